"""Values (pages, stories, images, videos, problems) and the nodes of the sitemap tree."""

from typing import TYPE_CHECKING

from usp._base.names import lazy_getattr

if not TYPE_CHECKING:
    __getattr__ = lazy_getattr(__name__)
