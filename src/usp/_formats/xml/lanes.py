"""Two lanes through a document: the fast one where it can be taken, the scanner everywhere else."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Any, ClassVar

from usp._formats.xml.fast import MAX_ENTRY, MAX_FIRST_ENTRY, Style, Tags, learn_style, tags
from usp._formats.xml.parser import AbstractXMLSitemapParser
from usp._formats.xml.vocabulary import MAX_NAME

if TYPE_CHECKING:
    from usp._formats.abstract_parser import Entry

_MAX_PREFIXES = 50


class TwoLaneParser(AbstractXMLSitemapParser):
    """A parser that cuts regular stretches of a document, if it was told to be fast.

    It takes the fast lane whenever the scanner stands directly below the root, with nothing begun.
    """

    fast_entry: ClassVar[str]
    """The entry that the fast lane cuts."""

    counts_lines: ClassVar[bool] = True
    """Whether problems are told beside the fast lane, with their lines."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.scanner.hurry = self.fast and not self.counts_lines
        self._tags: Tags | None = None  # None: no fast lane
        self._learned = False  # whether the way in which entries are written is known
        self._held = ""  # text that the fast lane waits to see the end of

    def _feed(self, text: str) -> list[Entry]:
        """Return the entries that are complete so far: by the fast lane where it can be taken."""
        if self._tags is None:
            return self._scan(text)
        if not self._at_rest():
            return self._return_to_rest(text, self._tags)
        searched = max(0, len(self._held) - len(self._tags.end))
        block = self._held + text
        if not self._learned:
            self._learn(block)
            searched = 0  # for another end of entries
        end = block.rfind(self._tags.end, searched) + len(self._tags.end)
        if end < len(self._tags.end):
            self._held = block if len(block) <= MAX_ENTRY else ""
            return [] if self._held else self._scan(block)
        self._held, block = block[end:], block[:end]
        entries = self._cut_block(block, self._tags)
        if entries is None:
            entries = self._cut_entries(block, self._tags)
        else:
            self.scanner.forgive()
            if self.counts_lines:
                self.scanner.skip(block)
        if self._held and not self._at_rest():
            held, self._held = self._held, ""
            entries += self._scan(held)
        return entries

    def _return_to_rest(self, text: str, tags: Tags) -> list[Entry]:
        """Scan to the end of an entry that the fast lane could not take, then go on as usual."""
        end = text.find(tags.end) + len(tags.end)
        if end < len(tags.end):
            return self._scan(text)
        entries = self._scan(text[:end])
        rest = text[end:]
        return entries + (self._feed(rest) if self._at_rest() else self._scan(rest))

    def _at_rest(self) -> bool:
        """Whether the scanner stands directly below the root, with nothing begun."""
        return (
            self._tags is not None
            and len(self._stack) == 1
            and self._entry is None
            and not self.root_closed
            and self.scanner.idle
        )

    def close(self) -> list[Entry]:
        """Return the rest."""
        return self._scan(self._held) + super().close()

    @abc.abstractmethod
    def _cut_block(self, block: str, tags: Tags) -> list[Entry] | None:
        """Cut a block by the fast lane; None if that cannot be done."""

    def _cut_entries(self, block: str, tags: Tags) -> list[Entry]:
        """Cut a block that is not regular, entry by entry where that is possible."""
        del tags
        return self._scan(block)

    def _learn(self, text: str) -> None:
        """Look at the first entry for how tags are written."""
        assert self._tags is not None
        style = learn_style(text[:MAX_FIRST_ENTRY], self.fast_entry, self._tags.prefix)
        self._learned = style is not None or len(text) >= MAX_FIRST_ENTRY
        if style is not None and max(map(len, style)) <= MAX_NAME:
            self._tags = self._choose_tags(style)

    def _begin_root(self, name: str, attributes: str) -> None:
        super()._begin_root(name, attributes)
        # Patterns are made of the prefixes, and remembered beyond this document.
        prefixes = [name, *self._scope.prefixes()]
        if self.fast and len(prefixes) <= _MAX_PREFIXES and max(map(len, prefixes)) <= MAX_NAME:
            self._tags = self._choose_tags()

    def _reopen(self, name: str, attributes: str) -> None:
        super()._reopen(name, attributes)
        if (name, attributes) != self._root_tag:
            self._tags = None  # the same tags may mean something else below another root

    def _choose_tags(self, style: Style | None = None) -> Tags:
        """Return the tags of entries that are written with the same prefix as the root."""
        prefix = self._root_tag[0].rpartition(":")[0]
        own = {
            other
            for other in {"", *self._scope.prefixes()}
            if self._is_own(self._scope.name(f"{other}:loc" if other else "loc"))
        }
        others = tuple(f"{other}:" if other else "" for other in sorted(own - {prefix}))
        return tags(
            self.fast_entry, f"{prefix}:" if prefix else "", others, style, tuple(self.strays)
        )
