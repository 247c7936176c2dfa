"""Which children of an index are followed: what the caller's callbacks say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from usp._formats.parser import ChildEntry
from usp._formats.values import date
from usp.objects.child import ChildSitemap

if TYPE_CHECKING:
    from usp.helpers import (
        RecurseCallbackType,
        RecurseEntryCallbackType,
        RecurseListCallbackType,
    )


@dataclass(frozen=True, slots=True)
class Choice:
    """The caller's callbacks. They are asked in this order: the list, then each child."""

    recurse_callback: RecurseCallbackType | None = None
    recurse_list_callback: RecurseListCallbackType | None = None
    recurse_entry_callback: RecurseEntryCallbackType | None = None

    def __bool__(self) -> bool:
        return any((self.recurse_callback, self.recurse_list_callback, self.recurse_entry_callback))

    def of(
        self, children: list[ChildEntry], level: int, parents: frozenset[str]
    ) -> list[ChildEntry]:
        """Give the children to follow, in order."""
        if self.recurse_list_callback:
            by_url = {child.loc: child for child in children}
            urls = self.recurse_list_callback(list(by_url), level, set(parents))
            children = [by_url.get(url) or ChildEntry(url) for url in urls]
        return [child for child in children if self._follows(child, level, parents)]

    def _follows(self, child: ChildEntry, level: int, parents: frozenset[str]) -> bool:
        if self.recurse_callback and not self.recurse_callback(child.loc, level, set(parents)):
            return False
        if self.recurse_entry_callback is None:
            return True
        entry = ChildSitemap(child.loc, date(child.lastmod), level, parents)
        return self.recurse_entry_callback(entry)
