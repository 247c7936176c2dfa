"""The extensions of XML sitemaps: one module each, and the table of them.

A new extension is a module with ``EXTENSION`` (which elements are read) and ``read`` (what they
become), and a line in :data:`EXTENSIONS`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from usp._formats.extensions import alternates, image, mobile, news, pagemap, video
from usp._formats.xml.namespaces import Space

if TYPE_CHECKING:
    from collections.abc import Mapping

    from usp._formats.xml.entries import Extension

MODULES = {
    Space.NEWS: news,
    Space.IMAGE: image,
    Space.VIDEO: video,
    Space.XHTML: alternates,
    Space.MOBILE: mobile,
    Space.PAGEMAP: pagemap,
}

EXTENSIONS: Mapping[Space, Extension] = {
    space: module.EXTENSION for space, module in MODULES.items()
}

FIELDS = {space: module.PAGE_FIELD for space, module in MODULES.items()}
"""The field of ``SitemapPage`` that each extension fills."""
