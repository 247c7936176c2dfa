"""Rules about the values of a video: numbers, dates, restrictions, and fields that are no longer read."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from usp._base.dates import in_utc
from usp.checks.registry import block_rule
from usp.checks.values import Hit, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from usp.checks.blocks import Block

MAX_SECONDS = 28_800
MAX_RATING = 5
MAX_DESCRIPTION = 2048
MAX_TAGS = 32
_DAY = timedelta(days=1)  # a date without a time lasts until its end
_DEPRECATED = {
    "category": "video:category",
    "gallery_loc": "video:gallery_loc",
    "prices": "video:price",
    "tv_show": "video:tvshow",
    "player_autoplay": "video:player_loc[autoplay]",
    "player_allow_embed": "video:player_loc[allow_embed]",
}


@block_rule("SM826", "video-duration", Severity.ERROR)
def video_duration(block: Block) -> Iterator[Hit]:
    """The duration of a video is not between 1 second and 8 hours.

    The duration is a number of seconds from 1 to 28,800.

    Source: https://developers.google.com/search/docs/crawling-indexing/sitemaps/video-sitemaps

    Bad:

        <url>
          <loc>https://example.org/tea</loc>
          <video:video>
            <video:thumbnail_loc>https://example.org/tea.jpg</video:thumbnail_loc>
            <video:title>How to make tea</video:title>
            <video:description>Water, leaves, three minutes.</video:description>
            <video:content_loc>https://example.org/tea.mp4</video:content_loc>
            <video:duration>90000</video:duration>
          </video:video>
        </url>

    Good:

        <url>
          <loc>https://example.org/tea</loc>
          <video:video>
            <video:thumbnail_loc>https://example.org/tea.jpg</video:thumbnail_loc>
            <video:title>How to make tea</video:title>
            <video:description>Water, leaves, three minutes.</video:description>
            <video:content_loc>https://example.org/tea.mp4</video:content_loc>
            <video:duration>90</video:duration>
          </video:video>
        </url>

    Fix: Write the duration in seconds, or leave it out.
    """
    for at, video in block.videos:
        if video.duration is not None and not 1 <= video.duration <= MAX_SECONDS:
            yield Hit(f"the duration is {video.duration:,} seconds", at)


@block_rule("SM827", "video-rating", Severity.WARNING)
def video_rating(block: Block) -> Iterator[Hit]:
    """The rating of a video is not between 0.0 and 5.0.

    Ratings are numbers from 0.0 (low) to 5.0 (high). Others are ignored.

    Source: https://developers.google.com/search/docs/crawling-indexing/sitemaps/video-sitemaps

    Bad:

        <url>
          <loc>https://example.org/tea</loc>
          <video:video>
            <video:thumbnail_loc>https://example.org/tea.jpg</video:thumbnail_loc>
            <video:title>How to make tea</video:title>
            <video:description>Water, leaves, three minutes.</video:description>
            <video:content_loc>https://example.org/tea.mp4</video:content_loc>
            <video:rating>87</video:rating>
          </video:video>
        </url>

    Good:

        <url>
          <loc>https://example.org/tea</loc>
          <video:video>
            <video:thumbnail_loc>https://example.org/tea.jpg</video:thumbnail_loc>
            <video:title>How to make tea</video:title>
            <video:description>Water, leaves, three minutes.</video:description>
            <video:content_loc>https://example.org/tea.mp4</video:content_loc>
            <video:rating>4.2</video:rating>
          </video:video>
        </url>

    Fix: Write a number from 0.0 to 5.0, or leave it out.
    """
    for at, video in block.videos:
        if video.rating is not None and not 0 <= video.rating <= MAX_RATING:
            yield Hit(f"the rating is {video.rating}", at)


@block_rule("SM828", "video-description-length", Severity.WARNING)
def video_description_length(block: Block) -> Iterator[Hit]:
    """The description of a video has more than 2,048 characters.

    Descriptions have at most 2,048 characters. Longer ones are cut off or ignored.

    Source: https://developers.google.com/search/docs/crawling-indexing/sitemaps/video-sitemaps

    Bad:

        <url>
          <loc>https://example.org/tea</loc>
          <video:video>
            <video:thumbnail_loc>https://example.org/tea.jpg</video:thumbnail_loc>
            <video:title>How to make tea</video:title>
            <video:description>{a*2049}</video:description>
            <video:content_loc>https://example.org/tea.mp4</video:content_loc>
          </video:video>
        </url>

    Good:

        <url>
          <loc>https://example.org/tea</loc>
          <video:video>
            <video:thumbnail_loc>https://example.org/tea.jpg</video:thumbnail_loc>
            <video:title>How to make tea</video:title>
            <video:description>{a*2048}</video:description>
            <video:content_loc>https://example.org/tea.mp4</video:content_loc>
          </video:video>
        </url>

    Fix: Shorten the description.
    """
    for at, video in block.videos:
        if video.description and len(video.description) > MAX_DESCRIPTION:
            yield Hit(f"the description has {len(video.description):,} characters", at)


@block_rule("SM829", "too-many-video-tags", Severity.WARNING)
def too_many_video_tags(block: Block) -> Iterator[Hit]:
    """A video has more than 32 tags.

    At most 32 tags are read.

    Source: https://developers.google.com/search/docs/crawling-indexing/sitemaps/video-sitemaps

    Bad:

        <url>
          <loc>https://example.org/tea</loc>
          <video:video>
            <video:thumbnail_loc>https://example.org/tea.jpg</video:thumbnail_loc>
            <video:title>How to make tea</video:title>
            <video:description>Water, leaves, three minutes.</video:description>
            <video:content_loc>https://example.org/tea.mp4</video:content_loc>
            <video:tag>{n}</video:tag> (x 33)
          </video:video>
        </url>

    Good:

        <url>
          <loc>https://example.org/tea</loc>
          <video:video>
            <video:thumbnail_loc>https://example.org/tea.jpg</video:thumbnail_loc>
            <video:title>How to make tea</video:title>
            <video:description>Water, leaves, three minutes.</video:description>
            <video:content_loc>https://example.org/tea.mp4</video:content_loc>
            <video:tag>{n}</video:tag> (x 32)
          </video:video>
        </url>

    Fix: Keep the most important 32 tags.
    """
    for at, video in block.videos:
        if len(video.tags) > MAX_TAGS:
            yield Hit(f"the video has {len(video.tags):,} tags", at)


@block_rule("SM830", "expired-video", Severity.WARNING)
def expired_video(block: Block) -> Iterator[Hit]:
    """A video has expired.

    After the expiration date, search engines no longer show the video. If it is still available, the date
    is wrong; if not, the entry should go.

    Source: https://developers.google.com/search/docs/crawling-indexing/sitemaps/video-sitemaps

    Bad:

        <url>
          <loc>https://example.org/tea</loc>
          <video:video>
            <video:thumbnail_loc>https://example.org/tea.jpg</video:thumbnail_loc>
            <video:title>How to make tea</video:title>
            <video:description>Water, leaves, three minutes.</video:description>
            <video:content_loc>https://example.org/tea.mp4</video:content_loc>
            <video:expiration_date>{now-30d}</video:expiration_date>
          </video:video>
        </url>

    Good:

        <url>
          <loc>https://example.org/tea</loc>
          <video:video>
            <video:thumbnail_loc>https://example.org/tea.jpg</video:thumbnail_loc>
            <video:title>How to make tea</video:title>
            <video:description>Water, leaves, three minutes.</video:description>
            <video:content_loc>https://example.org/tea.mp4</video:content_loc>
            <video:expiration_date>{now+30d}</video:expiration_date>
          </video:video>
        </url>

    Fix: Remove the video, or its <video:expiration_date>.
    """
    for at, video in block.videos:
        if (
            video.expiration_date is not None
            and in_utc(video.expiration_date) < block.sitemap.now - _DAY
        ):
            yield Hit(f"the video expired on {video.expiration_date:%Y-%m-%d}", at)


@block_rule("SM831", "video-expires-before-publication", Severity.ERROR)
def video_expires_before_publication(block: Block) -> Iterator[Hit]:
    """A video expires before it is published.

    One of the two dates is wrong, and search engines do not show the video.

    Source: https://developers.google.com/search/docs/crawling-indexing/sitemaps/video-sitemaps

    Bad:

        <url>
          <loc>https://example.org/tea</loc>
          <video:video>
            <video:thumbnail_loc>https://example.org/tea.jpg</video:thumbnail_loc>
            <video:title>How to make tea</video:title>
            <video:description>Water, leaves, three minutes.</video:description>
            <video:content_loc>https://example.org/tea.mp4</video:content_loc>
            <video:expiration_date>{now+10d}</video:expiration_date>
            <video:publication_date>{now+20d}</video:publication_date>
          </video:video>
        </url>

    Good:

        <url>
          <loc>https://example.org/tea</loc>
          <video:video>
            <video:thumbnail_loc>https://example.org/tea.jpg</video:thumbnail_loc>
            <video:title>How to make tea</video:title>
            <video:description>Water, leaves, three minutes.</video:description>
            <video:content_loc>https://example.org/tea.mp4</video:content_loc>
            <video:expiration_date>{now+20d}</video:expiration_date>
            <video:publication_date>{now-10d}</video:publication_date>
          </video:video>
        </url>

    Fix: Correct the dates.
    """
    for at, video in block.videos:
        published, expires = video.publication_date, video.expiration_date
        if published is not None and expires is not None and in_utc(expires) < in_utc(published):
            yield Hit(f"published on {published:%Y-%m-%d}, but expired on {expires:%Y-%m-%d}", at)


@block_rule("SM832", "video-relationship", Severity.ERROR)
def video_relationship(block: Block) -> Iterator[Hit]:
    """A restriction of a video does not say whether it allows or denies.

    <video:restriction> and <video:platform> need the attribute relationship, which is allow or deny.
    Without it, nobody knows who may see the video.

    Source: https://developers.google.com/search/docs/crawling-indexing/sitemaps/video-sitemaps

    Bad:

        <url>
          <loc>https://example.org/tea</loc>
          <video:video>
            <video:thumbnail_loc>https://example.org/tea.jpg</video:thumbnail_loc>
            <video:title>How to make tea</video:title>
            <video:description>Water, leaves, three minutes.</video:description>
            <video:content_loc>https://example.org/tea.mp4</video:content_loc>
            <video:restriction>DE AT CH</video:restriction>
          </video:video>
        </url>

    Good:

        <url>
          <loc>https://example.org/tea</loc>
          <video:video>
            <video:thumbnail_loc>https://example.org/tea.jpg</video:thumbnail_loc>
            <video:title>How to make tea</video:title>
            <video:description>Water, leaves, three minutes.</video:description>
            <video:content_loc>https://example.org/tea.mp4</video:content_loc>
            <video:restriction relationship="allow">DE AT CH</video:restriction>
          </video:video>
        </url>

    Fix: Add relationship="allow" or relationship="deny".
    """
    for at, video in block.videos:
        for name in ("restriction", "platform"):
            relationship = getattr(video, f"{name}_relationship")
            if getattr(video, name) and (relationship or "").strip().lower() not in (
                "allow",
                "deny",
            ):
                yield Hit(f"<video:{name}> has no relationship of 'allow' or 'deny'", at)


@block_rule("SM833", "deprecated-video-field", Severity.INFO)
def deprecated_video_field(block: Block) -> Iterator[Hit]:
    """A video has fields that search engines no longer read.

    Google has dropped <video:category>, <video:gallery_loc>, <video:price>, <video:tvshow> and the
    attributes autoplay and allow_embed of <video:player_loc>. They do no harm, but make the sitemap larger.

    Source: https://developers.google.com/search/blog/2022/05/spring-cleaning-sitemap-extensions

    Bad:

        <url>
          <loc>https://example.org/tea</loc>
          <video:video>
            <video:thumbnail_loc>https://example.org/tea.jpg</video:thumbnail_loc>
            <video:title>How to make tea</video:title>
            <video:description>Water, leaves, three minutes.</video:description>
            <video:content_loc>https://example.org/tea.mp4</video:content_loc>
            <video:category>Drinks</video:category>
          </video:video>
        </url>

    Good:

        <url>
          <loc>https://example.org/tea</loc>
          <video:video>
            <video:thumbnail_loc>https://example.org/tea.jpg</video:thumbnail_loc>
            <video:title>How to make tea</video:title>
            <video:description>Water, leaves, three minutes.</video:description>
            <video:content_loc>https://example.org/tea.mp4</video:content_loc>
            <video:tag>Drinks</video:tag>
          </video:video>
        </url>

    Fix: Remove the fields.
    """
    for at, video in block.videos:
        names = [
            name for field, name in _DEPRECATED.items() if getattr(video, field) not in (None, ())
        ]
        if names:
            yield Hit(f"no longer read: {', '.join(names)}", at)
