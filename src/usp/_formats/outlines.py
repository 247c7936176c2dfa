"""Entries by their outline: the tags of an entry, without its texts.

Programs write thousands of entries with few outlines. What an outline means, and whether it is
well-formed, is found out once, from the tree of its tags alone. The texts of all entries that have it
are then split off by one pattern: whatever is in them, no tag begins there. The links to other
languages, which follow each other, count as one tag.
"""

from __future__ import annotations

import re
from collections import defaultdict
from functools import lru_cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeAlias

from usp._formats.entry_plans import EntryPlan, are_final
from usp._formats.link_runs import LinkReader
from usp._formats.url_batches import ignore
from usp._formats.xml.cut import FIELDS
from usp._formats.xml.entries import Sort
from usp._formats.xml.namespaces import Space
from usp._formats.xml.references import decoded_texts
from usp._formats.xml.trees import Unvouched, unvouched

if TYPE_CHECKING:
    from collections.abc import Sequence
    from xml.etree.ElementTree import Element

    from usp._formats.xml.entries import RawEntry, Step
    from usp._formats.xml.lanes import LaneParser
    from usp.objects.page import PageFields

_Tags: TypeAlias = tuple[str, ...]
"""The tags of an entry without its end, as they are written after ``<``."""

_MAX_OUTLINES, _MAX_LENGTH = 500, 4096  # that are remembered
_FEW = 50  # outlines that may be new before they must have been worth it:
_WORTH = 4  # entries for each of them
_OFTEN = 200  # entries of an outline, for which it pays to compile a pattern
_MAX_ALIKE = 4  # outlines with as many tags whose patterns are tried
_BLANKS = " \t\r\n"
_TAG = re.compile(r"<([^>]*+(?:>|\Z))")  # to the end, if it has none: then none is looked for again
_LINK = re.compile(r"<((?:[A-Za-z_][\w.-]*+:)?+link)\s")


class Outlines:
    """Reads entries below a root by their outlines; ``parser`` is at its position there.

    Entries are given without their ``end``. What cannot be vouched for raises :class:`Unvouched`; so
    does what may be a problem, if ``strict``.
    """

    def __init__(self, parser: LaneParser, entry: type[RawEntry]) -> None:
        self._parser = parser
        self._entry = entry
        self._known: dict[_Tags, _Outline] = {}
        # Those of many entries, by the number of their tags.
        self._frequent: dict[int, list[tuple[re.Pattern[str], _Outline]]] = defaultdict(list)
        self._link = ""  # how links begin, once there is one
        self._empty_link = ""
        self._links = LinkReader()
        self._count = self._new = 0

    def own(self, entries: list[str], end: str) -> dict[str, list[str]]:
        """Return the fields of the protocol of entries, as texts in columns."""
        self._begin(entries)
        flat: list[str] = []
        for entry in entries:
            rest, links = self._without_links(entry)
            if links.count("<") != links.count(self._link):
                raise Unvouched  # there is more between them
            outline, texts = self._split(rest, end)
            flat += outline.plan.own_texts([*texts, ""])
        flat = [*map(str.strip, _decoded(flat))]
        return {name: flat[at :: len(FIELDS)] for at, name in enumerate(FIELDS)}

    def fields(
        self, entries: list[str], end: str, *, strict: bool = False
    ) -> tuple[list[str], list[PageFields]]:
        """Return the locs of entries, references decoded, and all of their fields."""
        self._begin(entries, strict=strict)
        base = self._parser.base()
        outlines: list[_Outline] = []
        runs: list[str] = []
        flat: list[str] = []
        for entry in entries:
            rest, run = self._without_links(entry)
            outline, texts = self._split(rest, end, strict=strict)
            outlines.append(outline)
            runs.append(run)
            flat += texts
        stripped: list[str | None] = [*map(str.strip, _decoded(flat, strict=strict))]
        if "" in stripped:
            stripped = [text or None for text in stripped]
        final = are_final(stripped)
        locs, found, at = [], [], 0
        for outline, links in zip(
            outlines, self._links.read(runs, base, strict=strict), strict=True
        ):
            own = stripped[at : at + outline.size]
            at += outline.size
            locs.append(own[outline.loc] or "")
            own.append(None)
            fields = outline.plan.fields(
                own, outline.elements, base, links, final=final, strict=strict
            )
            found.append(fields)
        return locs, found

    def _split(
        self, rest: str, end: str, *, strict: bool = False
    ) -> tuple[_Outline, Sequence[str]]:
        """Return the outline of an entry and its texts, as written."""
        alike = self._frequent[rest.count("<")]
        for pattern, outline in alike:
            match = pattern.fullmatch(rest)
            if match is not None:
                return outline, match.groups()
        parts = _TAG.split(rest)
        tags = tuple(parts[1::2])
        outline = self._known.get(tags) or self._learn(tags, end)
        outline.count += 1
        if outline.count == _OFTEN and len(alike) < _MAX_ALIKE:
            alike.append((outline.pattern(), outline))
        if strict and not outline.is_blank(parts):
            raise Unvouched
        return outline, outline.texts(parts)

    def _begin(self, entries: list[str], *, strict: bool = False) -> None:
        """Prepare for entries, unless they tend to have an outline each."""
        if self._new > _FEW and self._new * _WORTH > self._count:
            raise Unvouched
        self._count += len(entries)
        if not self._link:
            found = _LINK.search(entries[0])
            if found and strict and not self._parser.scope.declares(found[1].rpartition(":")[0]):
                raise Unvouched  # perhaps a link declares its prefix itself
            if found and self._parser.meaning(found[1], self._entry).space is Space.XHTML:
                self._link, self._empty_link = found[0], f"{found[1]}/>"

    def _without_links(self, entry: str) -> tuple[str, str]:
        """Return an entry with an empty link for all of its links, and these."""
        begin = entry.find(self._link) if self._link else -1
        if begin < 0:
            return entry, ""
        end = entry.find(">", entry.rfind(self._link)) + 1
        if entry.startswith("</", end):  # not an empty tag, but two
            end = entry.find(">", end) + 1
        if not end:
            raise Unvouched
        return f"{entry[:begin]}<{self._empty_link}{entry[end:]}", entry[begin:end]

    def _learn(self, tags: _Tags, end: str) -> _Outline:
        """Return an outline that is new."""
        self._new += 1
        if any(tag[:1] in ("!", "?") for tag in tags):
            raise Unvouched
        trees = self._parser.trees()
        root = trees.parse("".join([*(f"<{tag}" for tag in tags), end]))
        if root is None or len(root) != 1:
            raise Unvouched
        sort, local, _ = trees.meaning(root[0].tag, type(None))
        if sort is not Sort.ENTRY or self._parser.entries[local] is not self._entry:
            raise Unvouched
        elements = list(root[0].iter())
        links = [at for at, tag in enumerate(tags) if tag == self._empty_link]
        outline = _Outline(tags, links, elements, trees.steps(elements, self._entry))
        if len(self._known) < _MAX_OUTLINES and sum(map(len, tags)) <= _MAX_LENGTH:
            self._known[tags] = outline
        return outline


class _Outline:
    """The tags of an entry, and what they mean."""

    def __init__(
        self, tags: _Tags, links: list[int], elements: list[Element], steps: list[Step]
    ) -> None:
        starts = [at for at, tag in enumerate(tags) if tag[0] != "/"]
        plan = EntryPlan([step for step in steps if starts[step[-1]] not in links])
        if (
            len(plan.locs) != 1
            or any(len(elements[at]) for at in plan.leaves)  # there is markup in a text
            or (links and Space.XHTML in plan.spaces)  # some links are written otherwise
        ):
            raise Unvouched
        self.count = 0  # of entries that were split
        self.plan = plan
        self.elements = elements
        self.loc = plan.locs[0]
        self.size = len(plan.leaves)
        self._tags = tags
        self._leaves = tuple(starts[number] for number in plan.leaves)
        # There is no text in an empty tag: it comes from behind the last part.
        places = [-1 if tags[at].endswith("/>") else 2 * at + 2 for at in self._leaves]
        self._texts = itemgetter(*places, -1)
        self._others = itemgetter(*{*range(0, 2 * len(tags) + 1, 2)}.difference(places), -1)

    def pattern(self) -> re.Pattern[str]:
        """Return the pattern of such entries, with nothing but blanks between their elements."""
        return _whole(self._tags, self._leaves)

    def texts(self, parts: list[Any]) -> list[str]:
        """Return the texts of an entry that are read."""
        return list(self._texts([*parts, ""])[:-1])

    def is_blank(self, parts: list[Any]) -> bool:
        """Return whether there is nothing between them."""
        return not "".join(self._others([*parts, ""])).strip(_BLANKS)


@lru_cache(maxsize=64)
def _whole(tags: _Tags, leaves: tuple[int, ...]) -> re.Pattern[str]:
    blanks = r"[ \t\r\n]*+"
    parts = [blanks]
    for at, tag in enumerate(tags):
        text = blanks
        if at in leaves:
            text = f"(){blanks}" if tag.endswith("/>") else "([^<]*+)"
        parts.append(f"<{re.escape(tag)}{text}")
    return re.compile("".join(parts))


def _decoded(texts: list[str], *, strict: bool = False) -> list[str]:
    """Return texts with references decoded."""
    if strict and "]]>" in "".join(texts):
        raise Unvouched
    return decoded_texts(texts, unvouched if strict else ignore)
