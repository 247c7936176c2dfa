"""Values (pages, stories, images, videos, problems) and the nodes of the sitemap tree."""

from typing import TYPE_CHECKING

from usp._base.names import elsewhere

if not TYPE_CHECKING:
    __getattr__ = elsewhere(__name__)
