"""Rules about images and videos."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING

from usp._base.dates import in_utc
from usp._base.urls import are_related, host_of, is_http_url
from usp.checks.finding import Hit, Severity
from usp.checks.hreflang import COUNTRIES
from usp.checks.page_columns import (
    IMAGE_ELEMENTS,
    TOLERANCE,
    VIDEO_ELEMENTS,
    is_well_written,
    mistake_in_text,
    moment_of,
)
from usp.checks.page_urls import is_local_host
from usp.checks.registry import block_rule

if TYPE_CHECKING:
    from usp.checks.page_columns import PageColumns
    from usp.objects.video import SitemapVideo

MAX_IMAGES = 1000


@block_rule("SM801", Severity.ERROR)
def too_many_images(block: PageColumns) -> Iterator[Hit]:
    """A page has more than 1,000 images.

    Google reads up to 1,000 images of each page; the others are ignored.
    Source: google:crawling-indexing/sitemaps/image-sitemaps
    Bad:
        <url>
          <loc>https://example.org/gallery</loc>
          <image:image><image:loc>https://example.org/{n}.jpg</image:loc></image:image> (x 1001)
        </url>
    Good: with 1000 instead of 1001
    Fix: List the most important 1,000 images, or split the page.
    """
    for at, images in block.images:
        if len(images) > MAX_IMAGES:
            message = f"the page has {len(images):,} images; at most {MAX_IMAGES:,} are read"
            yield Hit(message, (at, MAX_IMAGES))


@block_rule("SM802", Severity.ERROR)
def bad_image_url(block: PageColumns) -> Iterator[Hit]:
    """The URL of an image cannot be fetched over HTTP.

    Search engines fetch the image. They cannot do that with data: or blob: URLs, or with text, and
    they do not resolve relative URLs.
    Source: google:crawling-indexing/sitemaps/image-sitemaps
    Bad: <image:image><image:loc>data:image/png;base64,iVBORw0KGgo=</image:loc></image:image>
    Good: <image:image><image:loc>https://images.example.net/tea.png</image:loc></image:image>
    Fix: Write the absolute URL of the image file.
    """
    for at, name, url, what in _unfetchable(block, "image") if block.images else ():
        said = f"the URL of an image is {what}: {url[:80]!r}"
        yield Hit(said, at, element=name, text=url)


def _unfetchable(block: PageColumns, prefix: str) -> Iterator[tuple[int, str, str, str]]:
    """Yield the URLs of images, or of videos, that are relative or not of HTTP, and which of the two."""
    names = ["loc"] if prefix == "image" else VIDEO_ELEMENTS
    relative = block.relative(prefix, *names)
    for (at, written), name in sorted(relative.items()):
        yield at, name, written, "relative"
    for at, name, url in block.media:
        is_file = name == "content_loc" and url.startswith("ftp://")
        is_known = name not in names or is_file or (at, url) in relative
        # There is another rule about blanks.
        if not (is_known or is_http_url(url) or is_http_url("%20".join(url.split()))):
            yield at, name, url, "not an HTTP URL"


_NO_IMAGE = re.compile(
    r"[^?#]*\.(?:html?|css|js|json|pdf|psd|zip|mp4|m4v|mov|webm|avi|mpe?g|m3u8)(?:[?#]|$)",
    re.IGNORECASE,
)
_IMAGE = re.compile(r"[^?#]*\.(?:jpe?g|png|gif|webp)(?:[?#]|$)", re.IGNORECASE)


@block_rule("SM805", Severity.WARNING)
def media_of_other_kind(block: PageColumns) -> Iterator[Hit]:
    """What is listed as an image or a video has the name of another kind of file.

    A web page, a video or a document is no image, and an image no video. Search engines fetch it and find
    nothing that they can show.
    Source: google:crawling-indexing/sitemaps/image-sitemaps google:crawling-indexing/sitemaps/video-sitemaps
    Bad: <image:image><image:loc>https://example.org/tea.mp4</image:loc></image:image>
    Good: <image:image><image:loc>https://example.org/tea.webp</image:loc></image:image>
    Fix: Write the URL of the image or video itself.
    """
    for at, element, url in block.media:
        is_image = element in IMAGE_ELEMENTS
        if _NO_IMAGE.match(url) if is_image else element == "content_loc" and _IMAGE.match(url):
            message = f"by its name, this is no {'image' if is_image else 'video'}: {url[:80]!r}"
            yield Hit(message, at, element=element, text=url)


@block_rule("SM806", Severity.INFO)
def insecure_media(block: PageColumns) -> Iterator[Hit]:
    """The image or video of a page with https is listed with http.

    Browsers load it with https or not at all, and search engines may index another URL than the one that
    the page shows.
    Source: google:crawling-indexing/sitemaps/image-sitemaps
    Bad: <image:image><image:loc>http://example.org/tea.png</image:loc></image:image>
    Good: <image:image><image:loc>https://example.org/tea.png</image:loc></image:image>
    Fix: List it with https, as the page does.
    """
    for at, element, url in block.media:
        is_mixed = url.startswith("http:") and block.urls[at].startswith("https:")
        host = host_of(url) if is_mixed else None
        if host and not is_local_host(host.partition(":")[0]):
            yield Hit(f"it is listed with http: {url[:80]!r}", at, element=element, text=url)


@block_rule("SM803", Severity.INFO)
def duplicate_image(block: PageColumns) -> Iterator[Hit]:
    """A page lists the same image several times.

    The repetition has no effect, except that it counts towards the limit of 1,000 images.
    Source: google:crawling-indexing/sitemaps/image-sitemaps
    Bad:
        <image:image><image:loc>https://example.org/tea.png</image:loc></image:image>
        <image:image><image:loc>https://example.org/tea.png</image:loc></image:image>
    Good:
        <image:image><image:loc>https://example.org/tea.png</image:loc></image:image>
        <image:image><image:loc>https://example.org/tea.png?large</image:loc></image:image>
    Fix: List each image of a page once.
    """
    for at, images in block.images:
        if twice := len(images) - len({image.loc for image in images}):
            message = f"{twice:,} of the {len(images):,} images were listed before on the page"
            first, _ = Counter(image.loc for image in images).most_common(1)[0]
            yield Hit(message, at, element="loc", text=first)


@block_rule("SM804", Severity.INFO)
def deprecated_image_field(block: PageColumns) -> Iterator[Hit]:
    """An image has fields that search engines no longer read.

    Google has dropped <image:caption>, <image:geo_location>, <image:title> and <image:license>. They do
    no harm, but make the sitemap larger.
    Source: blog:2022/05/spring-cleaning-sitemap-extensions
    Bad:
        <image:image>
          <image:loc>https://example.org/tea.png</image:loc>
          <image:caption>A cup of tea</image:caption>
        </image:image>
    Good: without image:caption
    Fix: Remove the fields; describe images in the page itself, as alt texts and structured data.
    """
    fields = ("caption", "geo_location", "license", "title")
    for at, images in block.images:
        given = [name for name in fields if any(getattr(image, name) for image in images)]
        if names := ", ".join(f"image:{name}" for name in given):
            yield Hit(f"no longer read: {names}", at, element=given[0])


MAX_VIDEOS = 1000
_REQUIRED = ("thumbnail_loc", "title", "description")


@block_rule("SM820", Severity.ERROR)
def video_field_missing(block: PageColumns) -> Iterator[Hit]:
    """A video lacks a required field.

    A video needs a thumbnail, a title and a description. Without them, search engines ignore it.
    Bad: no <video:description>
    Good: <video:description>Water, leaves, three minutes.</video:description>
    Fix: Add <video:thumbnail_loc>, <video:title> and <video:description>.
    """
    for at, video in block.videos:
        missing = [f"<video:{name}>" for name in _REQUIRED if not getattr(video, name)]
        if missing:
            yield Hit(f"the video has no {' and no '.join(missing)}", at)


@block_rule("SM821", Severity.ERROR)
def video_without_location(block: PageColumns) -> Iterator[Hit]:
    """A video has neither a file nor a player.

    One of <video:content_loc> and <video:player_loc> is required: otherwise there is nothing to play.
    Bad: no <video:content_loc>
    Good:
        no <video:content_loc>
        <video:player_loc>https://example.org/player?tea</video:player_loc>
    Fix: Add the URL of the video file as <video:content_loc>, or that of a player as <video:player_loc>.
    """
    for at, video in block.videos:
        if not video.content_loc and not video.player_loc:
            yield Hit("the video has neither <video:content_loc> nor <video:player_loc>", at)


@block_rule("SM822", Severity.ERROR)
def video_is_page(block: PageColumns) -> Iterator[Hit]:
    """The file or the player of a video is the page itself, or the file is any web page.

    The URL of the video file, or of its player, must not be that of the page. The file is the video, such
    as an .mp4: a page that shows one, on YouTube for example, is at most a player.
    Bad:
        <video:content_loc>https://example.org/tea</video:content_loc>
        <video:player_loc>https://example.org/player?tea</video:player_loc>
    Good: with /tea.mp4< instead of /tea<
    Fix: Write the URL of the video file as <video:content_loc>, or that of a player alone as <video:player_loc>.
    """
    for at, video in block.videos:
        url, page = video.content_loc, block.urls[at[0]]
        if page in (url, video.player_loc):
            name = "content_loc" if page == url else "player_loc"
            yield Hit("the video has the URL of its page", at, element=name, text=page)
        elif url and _WEB_PAGE.match(url):
            message = f"<video:content_loc> is a web page: {url}"
            yield Hit(message, at, element="content_loc", text=url)


@block_rule("SM823", Severity.WARNING)
def video_file_is_player(block: PageColumns) -> Iterator[Hit]:
    """The file and the player of a video have the same URL.

    The file is the video itself, the player is a page or a program that plays it. One of the two is wrong.
    Bad: <video:player_loc>https://example.org/tea.mp4</video:player_loc>
    Good: <video:player_loc>https://example.org/player?tea</video:player_loc>
    Fix: Leave out the one of <video:content_loc> and <video:player_loc> that is wrong.
    """
    for at, video in block.videos:
        if video.content_loc and video.content_loc == video.player_loc:
            yield Hit(
                "<video:content_loc> and <video:player_loc> are the same", at, element="player_loc"
            )


@block_rule("SM824", Severity.WARNING)
def too_many_videos(block: PageColumns) -> Iterator[Hit]:
    """A page has more than 1,000 videos.

    No reader of sitemaps expects as many. A page with a video should be about that video: search engines
    show videos only for such pages.
    Bad:
        <url>
          <loc>https://example.org/videos</loc>
          <video:video><video:thumbnail_loc>https://example.org/{n}.jpg</video:thumbnail_loc><video:title>Tea {n}</video:title><video:description>Tea, part {n}</video:description><video:content_loc>https://example.org/{n}.mp4</video:content_loc></video:video> (x 1001)
        </url>
    Good: with 1000 instead of 1001
    Fix: Give each video a page of its own.
    """
    for at, videos in Counter(at for (at, _), _ in block.videos).items():
        if videos > MAX_VIDEOS:
            yield Hit(f"the page has {videos:,} videos", (at, MAX_VIDEOS))


@block_rule("SM825", Severity.ERROR)
def bad_video_url(block: PageColumns) -> Iterator[Hit]:
    """A URL of a video cannot be fetched over HTTP.

    Search engines fetch the thumbnail and the video. The file must be at an HTTP or FTP URL.
    Bad: <video:content_loc>rtmp://example.org/tea</video:content_loc>
    Good: <video:content_loc>https://cdn.example.net/tea.mp4</video:content_loc>
    Fix: Write the absolute URL of the file.
    """
    for at, name, url, what in _unfetchable(block, "video") if block.videos else ():
        said = "a URL of the video" if what == "relative" else f"<video:{name}>"
        yield Hit(f"{said} is {what}: {url[:80]!r}", at, element=name, text=url)


_WEB_PAGE = re.compile(
    r"https?://(?:[^?#]+\.html?(?:[?#]|$)|(?:www\.|m\.)?(?:youtube\.com/(?:watch|embed|shorts)|youtu\.be/"
    r"|vimeo\.com/[0-9]|dailymotion\.com/video))",
    re.IGNORECASE,
)
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


@block_rule("SM826", Severity.ERROR)
def video_duration(block: PageColumns) -> Iterator[Hit]:
    """The duration of a video is not between 1 second and 8 hours.

    The duration is a number of seconds from 1 to 28,800.
    Bad: <video:duration>90000</video:duration>
    Good: <video:duration>90</video:duration>
    Fix: Write the duration in seconds, or leave it out.
    """
    for at, video in block.videos:
        if video.duration is not None and not 1 <= video.duration <= MAX_SECONDS:
            yield Hit(f"the duration is {video.duration:,} seconds", at, element="duration")


@block_rule("SM827", Severity.WARNING)
def video_rating(block: PageColumns) -> Iterator[Hit]:
    """The rating of a video is not between 0.0 and 5.0.

    Ratings are numbers from 0.0 (low) to 5.0 (high). Others are ignored.
    Bad: <video:rating>87</video:rating>
    Good: <video:rating>4.2</video:rating>
    Fix: Write a number from 0.0 to 5.0, or leave it out.
    """
    for at, video in block.videos:
        if video.rating is not None and not 0 <= video.rating <= MAX_RATING:
            yield Hit(f"the rating is {video.rating}", at, element="rating")


@block_rule("SM828", Severity.WARNING)
def video_description_length(block: PageColumns) -> Iterator[Hit]:
    """The description of a video has more than 2,048 characters.

    Descriptions have at most 2,048 characters. Longer ones are cut off or ignored.
    Bad: <video:description>{a*2049}</video:description>
    Good: <video:description>{a*2048}</video:description>
    Fix: Shorten the description.
    """
    for at, video in block.videos:
        if video.description and len(video.description) > MAX_DESCRIPTION:
            yield Hit(
                f"the description has {len(video.description):,} characters",
                at,
                element="description",
            )


@block_rule("SM829", Severity.WARNING)
def too_many_video_tags(block: PageColumns) -> Iterator[Hit]:
    """A video has more than 32 tags.

    At most 32 tags are read.
    Bad: <video:tag>{n}</video:tag> (x 33)
    Good: <video:tag>{n}</video:tag> (x 32)
    Fix: Keep the most important 32 tags.
    """
    for at, video in block.videos:
        if len(video.tags) > MAX_TAGS:
            yield Hit(f"the video has {len(video.tags):,} tags", at, text=video.tags[MAX_TAGS])


@block_rule("SM830", Severity.WARNING)
def expired_video(block: PageColumns) -> Iterator[Hit]:
    """A video has expired.

    After the expiration date, search engines no longer show the video. If it is still available, the date
    is wrong; if not, the entry should go.
    Bad: <video:expiration_date>{now-30d}</video:expiration_date>
    Good: <video:expiration_date>{now+30d}</video:expiration_date>
    Fix: Remove the video, or its <video:expiration_date>.
    """
    for at, video in block.videos:
        expires = video.expiration_date
        if expires is not None and in_utc(expires) < block.sitemap.now - _DAY:
            yield Hit(f"the video expired on {expires:%Y-%m-%d}", at, element="expiration_date")


@block_rule("SM831", Severity.ERROR)
def video_expires_before_publication(block: PageColumns) -> Iterator[Hit]:
    """A video expires before it is published.

    One of the two dates is wrong, and search engines do not show the video.
    Bad:
        <video:expiration_date>{now+10d}</video:expiration_date>
        <video:publication_date>{now+20d}</video:publication_date>
    Good:
        <video:expiration_date>{now+20d}</video:expiration_date>
        <video:publication_date>{now-10d}</video:publication_date>
    Fix: Correct the dates.
    """
    for at, video in block.videos:
        published, expires = video.publication_date, video.expiration_date
        if published is not None and expires is not None and in_utc(expires) < in_utc(published):
            message = f"published on {published:%Y-%m-%d}, but expired on {expires:%Y-%m-%d}"
            yield Hit(message, at, element="expiration_date")


@block_rule("SM832", Severity.ERROR)
def video_relationship(block: PageColumns) -> Iterator[Hit]:
    """A restriction of a video does not say whether it allows or denies.

    <video:restriction> and <video:platform> need the attribute relationship, which is allow or deny.
    Without it, nobody knows who may see the video.
    Bad: <video:restriction>DE AT CH</video:restriction>
    Good: <video:restriction relationship="allow">DE AT CH</video:restriction>
    Fix: Add relationship="allow" or relationship="deny".
    """
    for at, video in block.videos:
        for name in ("restriction", "platform"):
            relationship = (getattr(video, f"{name}_relationship") or "").strip().lower()
            if getattr(video, name) and relationship not in ("allow", "deny"):
                yield Hit(
                    f"<video:{name}> has no relationship of 'allow' or 'deny'", at, element=name
                )


@block_rule("SM833", Severity.INFO)
def deprecated_video_field(block: PageColumns) -> Iterator[Hit]:
    """A video has fields that search engines no longer read.

    Google has dropped <video:category>, <video:gallery_loc>, <video:price>, <video:tvshow> and the
    attributes autoplay and allow_embed of <video:player_loc>. They do no harm, but make the sitemap larger.
    Source: blog:2022/05/spring-cleaning-sitemap-extensions
    Bad: <video:category>Drinks</video:category>
    Good: <video:tag>Drinks</video:tag>
    Fix: Remove the fields.
    """
    for at, video in block.videos:
        fields = _DEPRECATED.items()
        given = [name for field, name in fields if getattr(video, field) not in (None, ())]
        if names := ", ".join(given):
            yield Hit(f"no longer read: {names}", at, element=given[0].removeprefix("video:"))


MAX_UPLOADER = 255
_FLASH = re.compile(r"\.(?:swf|flv)(?:[?#]|$)", re.IGNORECASE)
_LIKE_ANSWERS = frozenset({"true", "false", "1", "0", "y", "n"})
_PLATFORMS = frozenset({"web", "mobile", "tv"})


@block_rule("SM834", Severity.WARNING)
def video_value(block: PageColumns) -> Iterator[Hit]:
    """A value of a video is none of those that search engines know.

    They ignore such a value, or the video. Countries are codes of ISO 3166 with blanks between them, and
    platforms are web, mobile and tv; family_friendly, requires_subscription and live are yes or no, and
    view_count is not negative. An uploader has at most 255 characters, and a page of its own on the same
    host. Dates are written as W3C Datetime, and a video that is listed was published already. A title is
    text without tags. Flash plays nowhere any more.
    Bad:
        <video:restriction relationship="allow">Germany UK</video:restriction>
        <video:requires_subscription>true</video:requires_subscription>
        <video:publication_date>05/06/2024</video:publication_date>
    Good:
        <video:restriction relationship="allow">DE GB</video:restriction>
        <video:requires_subscription>yes</video:requires_subscription>
        <video:publication_date>2024-05-06</video:publication_date>
    Fix: Write the value as the documentation of video sitemaps says.
    """
    for number, video in block.videos:
        for name, message in _odd_values(video, block.urls[number[0]]):
            yield Hit(message, number, element=name)
        published = video.publication_date
        if published is not None and in_utc(published) > block.sitemap.now + TOLERANCE:
            said = f"dated {published:%Y-%m-%d}, in the future"
            yield Hit(said, number, element="publication_date")
    if block.videos:
        for at, name, text in block.written("video", *_YES_OR_NO):
            if text.lower() in _LIKE_ANSWERS:
                yield Hit(
                    f"<video:{name}> is {text!r} instead of yes or no", at, element=name, text=text
                )
        for at, name, text in block.written("video", "publication_date", "expiration_date"):
            if not is_well_written(text) and moment_of(text) is not None:
                yield Hit(f"<video:{name}> is written as {text!r}", at, element=name, text=text)


_YES_OR_NO = ("family_friendly", "live", "requires_subscription")


def _odd_values(video: SitemapVideo, page: str) -> Iterator[tuple[str, str]]:
    odd = [one for one in video.restriction if one.upper() not in COUNTRIES]
    yield from (("restriction", f"{one!r} is not a country") for one in odd)
    odd = [one for one in video.platform if one.lower() not in _PLATFORMS]
    yield from (("platform", f"{one!r} is not a platform") for one in odd)
    if (video.view_count or 0) < 0:
        yield "view_count", f"the view_count is {video.view_count}"
    uploader, host = video.uploader or "", host_of(video.uploader_info or "")
    if len(uploader) > MAX_UPLOADER:
        yield "uploader", f"the name of the uploader has {len(uploader):,} characters"
    if host and not are_related(host, host_of(page)):
        yield "uploader", f"the page of the uploader is on another host: {host}"
    if video.uploader_info and not is_http_url("%20".join(video.uploader_info.split())):
        yield "uploader", f"the page of the uploader is no HTTP URL: {video.uploader_info[:80]!r}"
    if wrong := mistake_in_text(video.title or ""):
        yield "title", f"{wrong!r} is in the title of the video"
    for name in ("content_loc", "player_loc"):
        if _FLASH.search(getattr(video, name) or ""):
            yield name, f"<video:{name}> is Flash, which no browser plays"
