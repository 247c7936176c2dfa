"""A resource as ResourceSync (NISO Z39.99) describes it, beside what a sitemap says of a page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from usp.objects.extension_values import EACH, OWN, Kind, PlainValue, Table, written

if TYPE_CHECKING:
    from datetime import datetime as _Time  # noqa: N812 - a field is called datetime

__all__ = ["SitemapResource", "SitemapResourceLink"]


@dataclass(frozen=True, slots=True, repr=False)
class SitemapResourceLink(PlainValue):
    """A link of a resource (``rs:ln``): a copy, another form, a description, what it belongs to."""

    rel: str = written(kind=Kind.VERBATIM, element=OWN, attribute="rel", required=True)
    href: str = written(kind=Kind.ADDRESS, element=OWN, attribute="href", required=True)
    hash: str | None = written(element=OWN, attribute="hash")
    length: int | None = written(element=OWN, attribute="length")
    type: str | None = written(element=OWN, attribute="type")
    modified: _Time | None = written(kind=Kind.TIME, element=OWN, attribute="modified")
    path: str | None = written(element=OWN, attribute="path")
    pri: int | None = written(element=OWN, attribute="pri")


_LINK = Table.of("ln", SitemapResourceLink)


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class SitemapResource(PlainValue):
    """What ResourceSync says of a resource (``rs:md``), and its ``links``.

    ``change`` is ``created``, ``updated`` or ``deleted``, and ``datetime`` when that was; ``hash`` has
    each hash with its algorithm, separated by blanks; ``length`` is in bytes.
    """

    capability: str | None = written(element=OWN, attribute="capability")
    change: str | None = written(element=OWN, attribute="change")
    datetime: _Time | None = written(kind=Kind.TIME, element=OWN, attribute="datetime")
    hash: str | None = written(element=OWN, attribute="hash")
    length: int | None = written(element=OWN, attribute="length")
    type: str | None = written(element=OWN, attribute="type")
    encoding: str | None = written(element=OWN, attribute="encoding")
    path: str | None = written(element=OWN, attribute="path")
    links: tuple[SitemapResourceLink, ...] = written(
        (), kind=_LINK, element="ln", many=EACH, beside=True
    )
