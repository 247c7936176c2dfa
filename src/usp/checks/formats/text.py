"""Findings as text: by sitemap and rule, with examples; or each in a line of its own."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from usp._base.display import counted
from usp._base.safe_text import excerpt, printable
from usp.checks.folding import Folded
from usp.checks.places import said, spot
from usp.checks.values import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from usp.checks.folding import Elsewhere, Fold
    from usp.checks.formats.subject import Subject
    from usp.checks.values import Finding

_LONGEST = 160  # characters of a message that is only an example
_NARROWEST = 30
_PLURALS = {Severity.INFO: "infos"}


def text(subject: Subject) -> Iterator[str]:
    """Yield the findings of each sitemap, folded by rule; at the end what to do, and a summary."""
    if subject.everything:
        yield from (_line(subject, finding) for finding in subject.counted())
        yield from _summary(subject, None)
        return
    folded = Folded.of(subject.counted())
    for sitemap, folds in folded.sitemaps().items():
        yield subject.paint(printable(subject.places.name(sitemap)), "title")
        for fold in folds:
            yield from _fold(subject, fold)
        yield ""
    if folded.elsewhere:
        yield subject.paint("Other sitemaps", "title")
        for other in folded.elsewhere.values():
            yield _elsewhere(subject, other)
        yield ""
    if subject.counts.total:
        yield subject.paint("What to do", "title")
        for first in folded.rules():
            yield from _hint(subject, first)
        yield ""
    yield from _summary(subject, folded)


def _line(subject: Subject, finding: Finding) -> str:
    """Return a finding in a line for ``grep`` and editors: where, how bad, which rule, what."""
    place = ":".join(filter(None, [subject.places.name(finding.sitemap), spot(finding)]))
    severity = subject.paint(finding.severity.value, finding.severity.value)
    often = f" ({finding.times:,} times)" if finding.times > 1 else ""
    return f"{printable(place)}: {severity} {finding.code} {printable(said(finding))}{often}"


def _title(subject: Subject, first: Finding) -> str:
    severity = subject.paint(first.severity.value, first.severity.value)
    return f"  {severity} {first.code} {first.name}"


def _fold(subject: Subject, fold: Fold) -> Iterator[str]:
    often = f": {counted(fold.times, 'finding')}" if fold.times > len(fold.examples) else ""
    yield _title(subject, fold.first) + often
    spots = [spot(example) for example in fold.examples]
    room = max(map(len, spots))
    for example, where in zip(fold.examples, spots, strict=True):
        begin = f"    {where:>{room}}  " if room else "    "
        what = excerpt(printable(said(example)), _LONGEST)
        first, *rest = _wrapped(subject, what, len(begin))
        yield subject.paint(begin, "dim") + first
        yield from rest
    if fold.more:
        yield subject.paint(f"    and {fold.more:,} more", "dim")


def _elsewhere(subject: Subject, other: Elsewhere) -> str:
    many, places = counted(other.times, "finding"), counted(len(other.sitemaps), "sitemap")
    return f"{_title(subject, other.first)}: {many} in {places}"


def _hint(subject: Subject, first: Finding) -> Iterator[str]:
    begin = f"  {first.code} "
    line, *rest = _wrapped(subject, printable(first.hint or first.name), len(begin))
    yield begin + line
    yield from rest


def _wrapped(subject: Subject, line: str, indent: int) -> list[str]:
    """Return lines that fit, all but the first indented; URLs are not broken."""
    if subject.width is None:
        return [line]
    room = max(subject.width - indent, _NARROWEST)
    first, *rest = textwrap.wrap(line, room, break_long_words=False, break_on_hyphens=False) or [
        line
    ]
    return [first, *(" " * indent + more for more in rest)]


def _summary(subject: Subject, folded: Folded | None) -> Iterator[str]:
    counts = subject.counts
    checked = counted(len(subject.sitemaps), "sitemap")
    if not counts.total:
        yield subject.paint(f"No findings; {checked} checked.", "good")
        return
    parts = ", ".join(
        subject.paint(counted(number, one.value, _PLURALS.get(one)), one.value)
        for one in Severity
        if (number := counts.severities[one])
    )
    yield f"{counted(counts.total, 'finding')} ({parts}); {checked} checked."
    if folded is not None:
        example = folded.rules()[0].code
        more = "; --all lists every finding" if _is_short(folded) else ""
        yield f"'usp rule {example}' explains a rule{more}."


def _is_short(folded: Folded) -> bool:
    """Return whether not all findings were shown."""
    return bool(folded.elsewhere) or any(
        fold.more for folds in folded.sitemaps().values() for fold in folds
    )
