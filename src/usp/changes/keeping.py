"""Pages that differ, kept until they are given: a few in memory, many in a temporary file."""

from __future__ import annotations

import pickle
from bisect import bisect_left
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias

from usp._store import Store
from usp.objects.page import SitemapPage, pages_with_fields
from usp.objects.page_blocks import PageList, part_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from usp.objects.page import PageBlock

    Again: TypeAlias = Callable[[], PageBlock]

_ENCODING = "utf-8", "surrogatepass"  # half of a pair of characters may stand in a sitemap


class Keeper:
    """Keeps pages: ``room`` of them in memory, the rest in a temporary file that vanishes with it."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._store = Store()

    def keep(self, blocks: Iterable[PageBlock], positions: Sequence[int]) -> KeptPages:
        """Keep the pages at these positions of the blocks, which are in order."""
        kept: list[tuple[int, Again]] = []
        in_memory = len(positions) <= self._room
        if in_memory:
            self._room -= len(positions)
        for block, numbers in by_block(blocks, positions):
            all_of_it = len(numbers) == len(block.urls) and hasattr(block, "written")
            part = block if all_of_it else part_of(block, numbers)
            kept.append((len(numbers), _Held(part) if in_memory else self._stored(part)))
        return KeptPages(kept)

    def _stored(self, block: PageBlock) -> Again:
        """Write a block; return what reads it again: its text if it has one, else its fields."""
        written = getattr(block, "written", None)
        if written is None:
            data = pickle.dumps((list(block.urls), list(block.rows())))
            return _Pickled(self._store, self._store.append(data))
        urls, text = written()
        first = "\n".join(urls).encode(*_ENCODING)
        empty: PageBlock = block.restored([], "")  # type: ignore[attr-defined]
        return _Written(
            empty, self._store, self._store.append(first + text.encode(*_ENCODING)), len(first)
        )


class _Held:
    __slots__ = ("_block",)

    def __init__(self, block: PageBlock) -> None:
        self._block = block

    def __call__(self) -> PageBlock:
        return self._block


class _Written:
    __slots__ = ("_empty", "_place", "_store", "_urls")

    def __init__(self, empty: PageBlock, store: Store, place: tuple[int, int], urls: int) -> None:
        self._empty = empty
        self._store = store
        self._place = place
        self._urls = urls

    def __call__(self) -> PageBlock:
        data = b"".join(self._store.read([self._place]))
        urls = data[: self._urls].decode(*_ENCODING).split("\n")
        text = data[self._urls :].decode(*_ENCODING)
        block: PageBlock = self._empty.restored(urls, text)  # type: ignore[attr-defined]
        return block


class _Pickled:
    __slots__ = ("_place", "_store")

    def __init__(self, store: Store, place: tuple[int, int]) -> None:
        self._store = store
        self._place = place

    def __call__(self) -> PageBlock:
        urls, rows = pickle.loads(b"".join(self._store.read([self._place])))  # noqa: S301 - our own
        return PageList([SitemapPage.of(*pair) for pair in zip(urls, rows, strict=True)])


class KeptPages:
    """The pages of a sitemap that were kept, by their numbers among these."""

    def __init__(self, blocks: list[tuple[int, Again]]) -> None:
        self._blocks = blocks

    def pages(self, numbers: Sequence[int], *, parsed: bool = False) -> Iterator[SitemapPage]:
        """Return the pages with these numbers, which are in order."""
        return chain.from_iterable(self._blocks_of(numbers, parsed=parsed))

    def _blocks_of(
        self, numbers: Sequence[int], *, parsed: bool
    ) -> Iterator[Iterable[SitemapPage]]:
        first, at = 0, 0
        for count, again in self._blocks:
            if at == len(numbers):
                return
            end = first + count
            after = bisect_left(numbers, end, at)
            if after > at:
                block = again()
                pages = pages_with_fields(block) if parsed else block.pages()
                if after - at < count:
                    listed = list(pages)
                    pages = [listed[number - first] for number in numbers[at:after]]
                yield pages
            first, at = end, after


def by_block(
    blocks: Iterable[PageBlock], positions: Sequence[int]
) -> Iterator[tuple[PageBlock, list[int]]]:
    """Yield the blocks in which positions are, with the numbers of the pages there."""
    first, at = 0, 0
    for block in blocks:
        if at == len(positions):
            return
        end = first + len(block.urls)
        after = bisect_left(positions, end, at)
        if after > at:
            yield block, [position - first for position in positions[at:after]]
        first, at = end, after
