"""Values (pages, stories, images, videos, problems) and the nodes of the sitemap tree."""

from typing import TYPE_CHECKING

from usp._base.names import lazy_getattr

if TYPE_CHECKING:
    from usp.objects import page as page
    from usp.objects import sitemap as sitemap
else:
    __getattr__ = lazy_getattr(__name__)
