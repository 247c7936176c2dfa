"""Rules about images."""

from __future__ import annotations

from typing import TYPE_CHECKING

from usp._base.urls import is_http_url
from usp.checks.registry import block_rule
from usp.checks.relative import IMAGES, relative_in
from usp.checks.values import Hit, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from usp.checks.blocks import Block

MAX_IMAGES = 1000


@block_rule("SM801", "too-many-images", Severity.ERROR)
def too_many_images(block: Block) -> Iterator[Hit]:
    """A page has more than 1,000 images.

    Google reads up to 1,000 images of each page; the others are ignored.

    Source: https://developers.google.com/search/docs/crawling-indexing/sitemaps/image-sitemaps

    Bad:

        <url>
          <loc>https://example.org/gallery</loc>
          <image:image><image:loc>https://example.org/{n}.jpg</image:loc></image:image> (x 1001)
        </url>

    Good:

        <url>
          <loc>https://example.org/gallery</loc>
          <image:image><image:loc>https://example.org/{n}.jpg</image:loc></image:image> (x 1000)
        </url>

    Fix: List the most important 1,000 images, or split the page.
    """
    for at, images in block.images:
        if len(images) > MAX_IMAGES:
            yield Hit(f"the page has {len(images):,} images; at most {MAX_IMAGES:,} are read", at)


@block_rule("SM802", "bad-image-url", Severity.ERROR)
def bad_image_url(block: Block) -> Iterator[Hit]:
    """The URL of an image cannot be fetched over HTTP.

    Search engines fetch the image. They cannot do that with data: or blob: URLs, or with text, and
    they do not resolve relative URLs.

    Source: https://developers.google.com/search/docs/crawling-indexing/sitemaps/image-sitemaps

    Bad:

        <url>
          <loc>https://example.org/tea</loc>
          <image:image><image:loc>data:image/png;base64,iVBORw0KGgo=</image:loc></image:image>
        </url>

    Good:

        <url>
          <loc>https://example.org/tea</loc>
          <image:image><image:loc>https://images.example.net/tea.png</image:loc></image:image>
        </url>

    Fix: Write the absolute URL of the image file.
    """
    if not block.images:
        return
    relative = set(relative_in(block, IMAGES))
    for at, written in sorted(relative):
        yield Hit(f"the URL of an image is relative: {written[:80]!r}", at)
    for at, images in block.images:
        for image in images:
            if not is_http_url(image.loc) and (at, image.loc) not in relative:
                yield Hit(f"the URL of an image is not an HTTP URL: {image.loc[:80]!r}", at)


@block_rule("SM803", "duplicate-image", Severity.INFO)
def duplicate_image(block: Block) -> Iterator[Hit]:
    """A page lists the same image several times.

    The repetition has no effect, except that it counts towards the limit of 1,000 images.

    Source: https://developers.google.com/search/docs/crawling-indexing/sitemaps/image-sitemaps

    Bad:

        <url>
          <loc>https://example.org/tea</loc>
          <image:image><image:loc>https://example.org/tea.png</image:loc></image:image>
          <image:image><image:loc>https://example.org/tea.png</image:loc></image:image>
        </url>

    Good:

        <url>
          <loc>https://example.org/tea</loc>
          <image:image><image:loc>https://example.org/tea.png</image:loc></image:image>
          <image:image><image:loc>https://example.org/tea.png?large</image:loc></image:image>
        </url>

    Fix: List each image of a page once.
    """
    for at, images in block.images:
        twice = len(images) - len({image.loc for image in images})
        if twice:
            yield Hit(f"{twice:,} of the {len(images):,} images were listed before on the page", at)


@block_rule("SM804", "deprecated-image-field", Severity.INFO)
def deprecated_image_field(block: Block) -> Iterator[Hit]:
    """An image has fields that search engines no longer read.

    Google has dropped <image:caption>, <image:geo_location>, <image:title> and <image:license>. They do
    no harm, but make the sitemap larger.

    Source: https://developers.google.com/search/blog/2022/05/spring-cleaning-sitemap-extensions

    Bad:

        <url>
          <loc>https://example.org/tea</loc>
          <image:image>
            <image:loc>https://example.org/tea.png</image:loc>
            <image:caption>A cup of tea</image:caption>
          </image:image>
        </url>

    Good:

        <url>
          <loc>https://example.org/tea</loc>
          <image:image>
            <image:loc>https://example.org/tea.png</image:loc>
          </image:image>
        </url>

    Fix: Remove the fields; describe images in the page itself, as alt texts and structured data.
    """
    for at, images in block.images:
        names = {
            name
            for image in images
            for name in ("caption", "geo_location", "title", "license")
            if getattr(image, name)
        }
        if names:
            yield Hit(f"no longer read: {', '.join(f'image:{name}' for name in sorted(names))}", at)
