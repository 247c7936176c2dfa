"""The entries of a tree, read by plans: one plan for all entries that have the same elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from usp._formats.abstract_parser import PageBatch
from usp._formats.entry_plans import EntryPlan
from usp._formats.xml.cut import FIELDS
from usp._formats.xml.entries import text_of
from usp.objects.page import SitemapPage

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from xml.etree.ElementTree import Element

    from usp._formats.xml.entries import RawEntry
    from usp._formats.xml.trees import Trees
    from usp.objects.page import OwnFields, PageFields

_MOST, _LONGEST = 500, 1000  # plans that are remembered, and tags of one


class TreeEntry(NamedTuple):
    """An entry of a tree: its elements, itself first, and how they are read."""

    plan: EntryPlan
    elements: list[Element]

    @property
    def loc(self) -> str:
        """The text of its only loc; empty if it has none, or several."""
        at = self.plan.loc
        return "" if at is None else text_of(self.elements[at]).strip()

    def texts(self) -> list[str | None]:
        """Return the texts that its plan needs."""
        texts: list[str | None] = [
            text_of(self.elements[at]).strip() or None for at in self.plan.leaves
        ]
        texts.append(None)
        return texts

    def own_texts(self) -> list[str]:
        """Return the texts of the fields of the protocol; see :meth:`EntryPlan.own_leaves`."""
        return [
            "" if at is None else text_of(self.elements[at]).strip() for at in self.plan.own_leaves
        ]

    def own(self) -> OwnFields:
        """Return the fields of the protocol."""
        return self.plan.own(self.texts())

    def fields(self, base: str | None, *, strict: bool = False) -> PageFields:
        """Return all fields; raises :class:`Unvouched` for a problem, if ``strict``."""
        return self.plan.fields(self.texts(), self.elements, base, strict=strict)


class Plans:
    """How the entries of trees are read; found out once for entries that have the same elements."""

    def __init__(self, trees: Trees, entry: type[RawEntry]) -> None:
        self.trees = trees
        self._entry = entry
        self._known: dict[tuple[object, ...], EntryPlan] = {}

    def entry(self, element: Element) -> TreeEntry:
        """Return an entry; raises :class:`Unvouched`."""
        elements = list(element.iter())
        key = (*[one.tag for one in elements], *map(len, elements))
        plan = self._known.get(key)
        if plan is None:
            plan = EntryPlan(self.trees.steps(elements, self._entry))
            if len(self._known) < _MOST and len(key) < _LONGEST:
                self._known[key] = plan
        return TreeEntry(plan, elements)

    def own_columns(self, root: Element) -> dict[str, list[str]]:
        """Return the fields of the protocol of all entries of a tree, as texts in columns."""
        flat = [text for element in root for text in self.entry(element).own_texts()]
        return {name: flat[at :: len(FIELDS)] for at, name in enumerate(FIELDS)}


class ReadPages(PageBatch):
    """Pages whose fields are all read."""

    __slots__ = ("_fields", "_own", "urls")

    def __init__(
        self, urls: list[str], fields: list[PageFields], own: Sequence[Mapping[str, str]] = ()
    ) -> None:
        self.urls = urls
        self._fields = fields
        self._own = own  # the fields of the protocol as written, if problems were requested

    def pages(self) -> Iterator[SitemapPage]:
        """Return the pages."""
        return map(SitemapPage.of, self.urls, self._fields)

    def texts(self) -> None:
        """Return None: use the rows."""

    def own_texts(self) -> Mapping[str, Sequence[str]] | None:
        """Return the fields of the protocol in columns, if that is known."""
        if not self._own:
            return None
        names = [name for name in FIELDS if any(name in one for one in self._own)]
        return {name: [one.get(name, "") for one in self._own] for name in names}

    def rows(self) -> list[PageFields]:
        """Return everything except the URL of each page."""
        return self._fields
