"""Rules about what a video needs: its required fields, its file and its player."""

from __future__ import annotations

from typing import TYPE_CHECKING

from usp._base.urls import is_http_url
from usp.checks.registry import block_rule
from usp.checks.relative import VIDEOS, relative_in
from usp.checks.values import Hit, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from usp.checks.blocks import Block

MAX_VIDEOS = 1000
_REQUIRED = ("thumbnail_loc", "title", "description")


def _elements(names: Sequence[str]) -> str:
    return " and no ".join(f"<video:{name}>" for name in names)


@block_rule("SM820", "video-field-missing", Severity.ERROR)
def video_field_missing(block: Block) -> Iterator[Hit]:
    """A video lacks a required field.

    A video needs a thumbnail, a title and a description. Without them, search engines ignore it.

    Source: https://developers.google.com/search/docs/crawling-indexing/sitemaps/video-sitemaps

    Bad:

        <url>
          <loc>https://example.org/tea</loc>
          <video:video>
            <video:thumbnail_loc>https://example.org/tea.jpg</video:thumbnail_loc>
            <video:title>How to make tea</video:title>
            <video:content_loc>https://example.org/tea.mp4</video:content_loc>
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
          </video:video>
        </url>

    Fix: Add <video:thumbnail_loc>, <video:title> and <video:description>.
    """
    for at, video in block.videos:
        missing = [name for name in _REQUIRED if not getattr(video, name)]
        if missing:
            yield Hit(f"the video has no {_elements(missing)}", at)


@block_rule("SM821", "video-without-location", Severity.ERROR)
def video_without_location(block: Block) -> Iterator[Hit]:
    """A video has neither a file nor a player.

    One of <video:content_loc> and <video:player_loc> is required: otherwise there is nothing to play.

    Source: https://developers.google.com/search/docs/crawling-indexing/sitemaps/video-sitemaps

    Bad:

        <url>
          <loc>https://example.org/tea</loc>
          <video:video>
            <video:thumbnail_loc>https://example.org/tea.jpg</video:thumbnail_loc>
            <video:title>How to make tea</video:title>
            <video:description>Water, leaves, three minutes.</video:description>
          </video:video>
        </url>

    Good:

        <url>
          <loc>https://example.org/tea</loc>
          <video:video>
            <video:thumbnail_loc>https://example.org/tea.jpg</video:thumbnail_loc>
            <video:title>How to make tea</video:title>
            <video:description>Water, leaves, three minutes.</video:description>
            <video:player_loc>https://example.org/player?tea</video:player_loc>
          </video:video>
        </url>

    Fix: Add the URL of the video file as <video:content_loc>, or that of a player as <video:player_loc>.
    """
    for at, video in block.videos:
        if not video.content_loc and not video.player_loc:
            yield Hit("the video has neither <video:content_loc> nor <video:player_loc>", at)


@block_rule("SM822", "video-is-page", Severity.ERROR)
def video_is_page(block: Block) -> Iterator[Hit]:
    """The file or the player of a video is the page itself.

    The URL of the video file, or of its player, must not be that of the page.

    Source: https://developers.google.com/search/docs/crawling-indexing/sitemaps/video-sitemaps

    Bad:

        <url>
          <loc>https://example.org/tea</loc>
          <video:video>
            <video:thumbnail_loc>https://example.org/tea.jpg</video:thumbnail_loc>
            <video:title>How to make tea</video:title>
            <video:description>Water, leaves, three minutes.</video:description>
            <video:content_loc>https://example.org/tea</video:content_loc>
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
          </video:video>
        </url>

    Fix: Write the URL of the video file as <video:content_loc>, or that of a player alone as <video:player_loc>.
    """
    for at, video in block.videos:
        if block.urls[at] in (video.content_loc, video.player_loc):
            yield Hit("the video has the URL of its page", at)


@block_rule("SM823", "video-file-is-player", Severity.WARNING)
def video_file_is_player(block: Block) -> Iterator[Hit]:
    """The file and the player of a video have the same URL.

    The file is the video itself, the player is a page or a program that plays it. One of the two is wrong.

    Source: https://developers.google.com/search/docs/crawling-indexing/sitemaps/video-sitemaps

    Bad:

        <url>
          <loc>https://example.org/tea</loc>
          <video:video>
            <video:thumbnail_loc>https://example.org/tea.jpg</video:thumbnail_loc>
            <video:title>How to make tea</video:title>
            <video:description>Water, leaves, three minutes.</video:description>
            <video:content_loc>https://example.org/tea.mp4</video:content_loc>
            <video:player_loc>https://example.org/tea.mp4</video:player_loc>
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
            <video:player_loc>https://example.org/player?tea</video:player_loc>
          </video:video>
        </url>

    Fix: Leave out the one of <video:content_loc> and <video:player_loc> that is wrong.
    """
    for at, video in block.videos:
        if video.content_loc and video.content_loc == video.player_loc:
            yield Hit("<video:content_loc> and <video:player_loc> are the same", at)


@block_rule("SM824", "too-many-videos", Severity.WARNING)
def too_many_videos(block: Block) -> Iterator[Hit]:
    """A page has more than 1,000 videos.

    No reader of sitemaps expects as many. A page with a video should be about that video: search engines
    show videos only for such pages.

    Source: https://developers.google.com/search/docs/crawling-indexing/sitemaps/video-sitemaps

    Bad:

        <url>
          <loc>https://example.org/videos</loc>
          <video:video><video:thumbnail_loc>https://example.org/{n}.jpg</video:thumbnail_loc><video:title>Tea {n}</video:title><video:description>Tea, part {n}</video:description><video:content_loc>https://example.org/{n}.mp4</video:content_loc></video:video> (x 1001)
        </url>

    Good:

        <url>
          <loc>https://example.org/videos</loc>
          <video:video><video:thumbnail_loc>https://example.org/{n}.jpg</video:thumbnail_loc><video:title>Tea {n}</video:title><video:description>Tea, part {n}</video:description><video:content_loc>https://example.org/{n}.mp4</video:content_loc></video:video> (x 1000)
        </url>

    Fix: Give each video a page of its own.
    """
    for at, videos in block.video_lists:
        if len(videos) > MAX_VIDEOS:
            yield Hit(f"the page has {len(videos):,} videos", at)


@block_rule("SM825", "bad-video-url", Severity.ERROR)
def bad_video_url(block: Block) -> Iterator[Hit]:
    """A URL of a video cannot be fetched over HTTP.

    Search engines fetch the thumbnail and the video. The file must be at an HTTP or FTP URL.

    Source: https://developers.google.com/search/docs/crawling-indexing/sitemaps/video-sitemaps

    Bad:

        <url>
          <loc>https://example.org/tea</loc>
          <video:video>
            <video:thumbnail_loc>https://example.org/tea.jpg</video:thumbnail_loc>
            <video:title>How to make tea</video:title>
            <video:description>Water, leaves, three minutes.</video:description>
            <video:content_loc>rtmp://example.org/tea</video:content_loc>
          </video:video>
        </url>

    Good:

        <url>
          <loc>https://example.org/tea</loc>
          <video:video>
            <video:thumbnail_loc>https://example.org/tea.jpg</video:thumbnail_loc>
            <video:title>How to make tea</video:title>
            <video:description>Water, leaves, three minutes.</video:description>
            <video:content_loc>https://cdn.example.net/tea.mp4</video:content_loc>
          </video:video>
        </url>

    Fix: Write the absolute URL of the file.
    """
    if not block.videos:
        return
    relative = set(relative_in(block, VIDEOS))
    for at, written in sorted(relative):
        yield Hit(f"a URL of the video is relative: {written[:80]!r}", at)
    for at, video in block.videos:
        for name in ("thumbnail_loc", "content_loc", "player_loc"):
            url = getattr(video, name)
            if (
                url
                and not is_http_url(url)
                and (at, url) not in relative
                and not (name == "content_loc" and url.startswith("ftp://"))
            ):
                yield Hit(f"<video:{name}> is not an HTTP URL: {url[:80]!r}", at)
