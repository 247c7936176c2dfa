"""Templates: how elements of one kind are written, with everything that may be in them, in order.

Programs write thousands of entries, and of images in them, from few templates: the same tags, some of
which are left out where there is nothing to say. A template is learned from examples. Its pattern then
takes all such elements out of a text at once, and their texts in columns.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from usp._formats.xml.trees import Unvouched

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

BLANKS = " \t\r\n"
"""What may be between elements."""

NOTHING = re.compile("(?!)")
"""What nothing matches: nothing has been learned yet."""

_MAX_VARIANTS = 6  # of a template
_MAX_INSIDE = 40  # elements of an element
_MAX_TAGS, _MAX_LENGTH = 200, 4096  # of an example
_TAG = re.compile(r"<([^<>]*+)>")


class Element(NamedTuple):
    """An element of a template, with its tags as they are written."""

    start: str
    end: str  # empty if the start tag is an empty one
    inside: tuple[Element, ...] = ()
    repeats: bool = False  # whether several of it may follow each other

    def merged(self, other: Element) -> Element | None:
        """Return an element that is written like either of two; None if there is none."""
        if (self.start, self.end) != (other.start, other.end) or (
            bool(self.inside) != bool(other.inside)
        ):
            return None
        inside, at = [*self.inside], 0
        for one in other.inside:
            starts = [known.start for known in inside]
            if one.start not in starts:
                inside.insert(at, one)
            else:
                at = starts.index(one.start, at) if one.start in starts[at:] else -1
                both = None if at < 0 else inside[at].merged(one)
                if both is None:
                    return None
                inside[at] = both
            at += 1
        if len(inside) > _MAX_INSIDE:
            raise Unvouched  # perhaps a tag is never the same, because of its attributes
        return Element(self.start, self.end, tuple(inside), self.repeats or other.repeats)

    def all(self) -> Iterator[Element]:
        """Yield the element and those inside, in the order of their start tags."""
        yield self
        for one in self.inside:
            yield from one.all()

    def written(self) -> str:
        """Return the element without its texts."""
        return f"{self.start}{''.join(one.written() for one in self.inside)}{self.end}"

    @property
    def has_text(self) -> bool:
        """Whether a pattern has a group for the element."""
        return bool(self.end) and not self.inside

    @property
    def says_nothing(self) -> bool:
        """Whether the element has neither a text nor attributes."""
        return not self.end and "=" not in self.start


def example(text: str) -> Element:
    """Return the element that a text is; raises :class:`Unvouched` if it is not a usual one."""
    tags = _TAG.findall(text)
    if len(tags) > _MAX_TAGS or sum(map(len, tags)) > _MAX_LENGTH:
        raise Unvouched
    open_: list[tuple[str, list[Element]]] = [("", [])]
    for tag in tags:
        if tag[:1] == "/":
            start, inside = open_.pop()
            if not open_ or start.split(maxsplit=1)[:1] != tag[1:].split():
                raise Unvouched
            _append(open_[-1][1], Element(f"<{start}>", f"<{tag}>", tuple(inside)))
        elif tag[:1] in ("", "!", "?") or ("=" in tag and "xml" in tag.lower()):
            raise Unvouched  # not an element, or it declares something
        elif tag.endswith("/"):
            _append(open_[-1][1], Element(f"<{tag}>", ""))
        else:
            open_.append((tag, []))
    if len(open_) != 1 or len(open_[0][1]) != 1:
        raise Unvouched
    return open_[0][1][0]


def _append(elements: list[Element], new: Element) -> None:
    """Append an element to others, unless it repeats the last one."""
    if elements and elements[-1][:2] == new[:2]:
        if new.inside or not new.end:
            raise Unvouched
        elements[-1] = new._replace(repeats=True)
    elif new.start in (one.start for one in elements):
        raise Unvouched
    else:
        elements.append(new)


_Plan = TypeVar("_Plan")
Column = list[str | None]
"""A text of each element; None if it is missing."""


class Template(Generic[_Plan]):
    """How elements of one kind are written, in a few variants.

    ``plan`` makes of a variant what its reader needs to know; it raises :class:`Unvouched` if it cannot
    be read. ``marks`` are characters that may be between the elements inside.
    """

    def __init__(self, plan: Callable[[Element], _Plan], marks: str = "") -> None:
        self._plan = plan
        self._marks = marks
        self._variants: list[tuple[Element, _Plan]] = []
        self._plans: list[tuple[_Plan, int]] = []  # with the number of columns of each
        self.pattern = NOTHING

    def learn(self, examples: Iterable[str]) -> None:
        """Learn from elements that do not match."""
        plans = dict(self._variants)
        known = list(plans)
        done = set()
        for new in map(example, examples):
            if new in done:
                continue
            done.add(new)
            for at, one in enumerate(known):
                both = one.merged(new)
                if both is not None:
                    known[at] = both
                    break
            else:
                if len(known) == _MAX_VARIANTS:
                    raise Unvouched
                known.append(new)
                plans[new] = self._plan(new)  # at once: perhaps it cannot be read
        self._variants = [(one, plans.get(one) or self._plan(one)) for one in known]
        self.pattern = _pattern(tuple(one for one, _ in self._variants), self._marks)
        self._plans = [
            (plan, sum(element.has_text for element in one.all())) for one, plan in self._variants
        ]

    def split(self, text: str) -> tuple[list[str], list[str | None]]:
        """Return what is between such elements, and all texts of these; see :meth:`columns`."""
        flat = self.pattern.split(text)
        return flat[:: self.pattern.groups + 1], flat

    def columns(
        self, flat: list[str | None]
    ) -> Iterator[tuple[_Plan, Sequence[int], list[Column]]]:
        """Yield each variant with the numbers of its elements and the columns of their texts."""
        step, at = self.pattern.groups + 1, 1
        for plan, width in self._plans:
            found = flat[at::step]
            numbers: Sequence[int] = range(len(found))
            columns = [flat[group::step] for group in range(at + 1, at + 1 + width)]
            if None in found:
                numbers = [n for n, one in enumerate(found) if one is not None]
                columns = [[column[n] for n in numbers] for column in columns]
            if numbers:
                yield plan, numbers, columns
            at += 1 + width


@lru_cache(maxsize=64)
def _pattern(variants: tuple[Element, ...], marks: str) -> re.Pattern[str]:
    """Return the pattern of variants with the blanks after them; a group each begins them."""
    blanks = f"[{BLANKS}{marks}]*+"
    parts = []
    for one in variants:
        inside = "".join(_part(child, blanks, f"[^<{marks}]*+") for child in one.inside)
        parts.append(f"{re.escape(one.start)}(){blanks}{inside}{re.escape(one.end)}")
    return re.compile(f"(?:{'|'.join(parts)})[{BLANKS}]*+")


def _part(element: Element, blanks: str, text: str) -> str:
    """Return the pattern of an element that may be missing."""
    start, end = re.escape(element.start), re.escape(element.end)
    if element.repeats:
        return f"((?:{start}{text}{end}{blanks})*+)"
    if element.inside:
        own = f"[{BLANKS}]*+"
        inside = "".join(_part(one, own, text) for one in element.inside)
        return f"(?:{start}{own}{inside}{end}{blanks})?+"
    return f"(?:{start}{f'({text})' if end else ''}{end}{blanks})?+"
