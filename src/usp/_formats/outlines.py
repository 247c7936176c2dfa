"""Entries by their outline: the tags of an entry, without its texts.

Programs write thousands of entries with few outlines. What an outline means, and whether it is
well-formed, is found out once, from the tree of its tags alone. The texts of all entries that have it
are then split off by one pattern: whatever is in them, no tag begins there. The links to other
languages, which follow each other, count as one tag.
"""

from __future__ import annotations

import re
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeAlias

from usp._formats.entry_plans import EntryPlan
from usp._formats.link_runs import LinkReader
from usp._formats.url_batches import ignore
from usp._formats.xml.cut import FIELDS
from usp._formats.xml.entries import Sort
from usp._formats.xml.namespaces import Space
from usp._formats.xml.references import decode_references, decode_text, is_clean
from usp._formats.xml.trees import Unvouched

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from xml.etree.ElementTree import Element

    from usp._formats.xml.entries import RawEntry, Step
    from usp._formats.xml.lanes import LaneParser
    from usp.objects.page import PageFields

_Tags: TypeAlias = tuple[str, ...]
"""The tags of an entry without its end, as they are written after ``<``."""

_MAX_OUTLINES, _MAX_LENGTH = 500, 4096  # that are remembered
_FEW = 50  # outlines that may be new before they must have been worth it:
_WORTH = 4  # entries for each of them
_TAG = re.compile(r"<([^>]*+(?:>|\Z))")  # to the end, if it has none: then none is looked for again
_LINK = re.compile(r"<((?:[A-Za-z_][\w.-]*+:)?+link)\s")


class Outlines:
    """Reads entries below a root by their outlines; ``parser`` is at its position there.

    Entries are given without their ``end``. What cannot be vouched for raises :class:`Unvouched`.
    """

    def __init__(self, parser: LaneParser, entry: type[RawEntry]) -> None:
        self._parser = parser
        self._entry = entry
        self._known: dict[_Tags, _Outline] = {}
        self._link = ""  # how links begin, once there is one
        self._empty_link = ""
        self._links = LinkReader()
        self._count = self._new = 0

    def own(self, entries: list[str], end: str) -> dict[str, list[str]]:
        """Return the fields of the protocol of entries, as texts in columns."""
        self._begin(entries)
        rows = []
        for entry in entries:
            rest, links = self._without_links(entry)
            if links.count("<") != links.count(self._link):
                raise Unvouched  # there is more between them
            parts = _TAG.split(rest)
            tags = tuple(parts[1::2])
            outline = self._known.get(tags) or self._learn(tags, end)
            rows.append(outline.own(parts))
        columns = zip(*rows, strict=True)
        return {name: [*map(str.strip, texts)] for name, texts in zip(FIELDS, columns, strict=True)}

    def fields(self, entries: list[str], end: str) -> tuple[list[str], list[PageFields]]:
        """Return the locs of entries, references decoded, and all of their fields."""
        self._begin(entries)
        base, known = self._parser.base(), self._known
        locs, found = [], []
        for entry in entries:
            rest, links = self._without_links(entry)
            parts = _TAG.split(rest)
            tags = tuple(parts[1::2])
            outline = known.get(tags) or self._learn(tags, end)
            texts = outline.texts(parts)
            alternates = self._links.read(links, base) if links else None
            locs.append(texts[outline.loc])
            found.append(outline.plan.fields(texts, outline.elements, base, alternates))
        return locs, found

    def _begin(self, entries: list[str]) -> None:
        """Prepare for entries, unless they tend to have an outline each."""
        if self._new > _FEW and self._new * _WORTH > self._count:
            raise Unvouched
        self._count += len(entries)
        if not self._link:
            found = _LINK.search(entries[0])
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
        self.plan = plan
        self.elements = elements
        self.loc = plan.locs[0]
        self._texts = _getter(tags, [starts[number] for number in plan.leaves])
        self._own = EntryPlan([step for step in steps if step[0] is Sort.FIELD])
        self._own_texts = _getter(tags, [starts[number] for number in self._own.leaves])

    def own(self, parts: list[Any]) -> tuple[str, str, str]:
        """Return the fields of the protocol of an entry, as texts."""
        parts.append("")
        return self._own.own_texts(_decoded(self._own_texts(parts)))

    def texts(self, parts: list[Any]) -> Sequence[str]:
        """Return the texts of an entry that are read, references decoded, and an empty one."""
        parts.append("")
        return _decoded(self._texts(parts))


def _getter(tags: _Tags, starts: list[int]) -> Callable[[list[Any]], Sequence[str]]:
    """Return what gets the texts behind some tags, and an empty one, which is the last part.

    There is no text in an empty tag, either.
    """
    places = [-1 if tags[at].endswith("/>") else 2 * at + 2 for at in starts]
    return itemgetter(*places, -1)


def _decoded(texts: Sequence[str]) -> Sequence[str]:
    """Return texts with references decoded."""
    joined = "<".join(texts)  # which is in none of them
    if is_clean(joined):
        if "&" not in joined:
            return texts
        decoded = decode_references(joined, ignore).split("<")
        if len(decoded) == len(texts):
            return decoded
    return [decode_text(text, ignore) for text in texts]
