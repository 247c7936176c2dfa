"""Findings as annotations in GitHub Actions: commands that its log turns into notes on files.

GitHub shows ten errors, ten warnings and ten notices of a step. So each annotation is about one rule in
one sitemap, and what is not shown is counted in the last line.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from usp._base.display import counted
from usp._base.safe_text import printable
from usp.checks.folding import Folded
from usp.checks.places import said
from usp.checks.values import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from usp.checks.folding import Fold
    from usp.checks.formats.subject import Subject

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
_MOST = 10  # annotations of a severity in a step


def github(subject: Subject) -> Iterator[str]:
    """Yield the annotations, and a summary."""
    shown: Counter[Severity] = Counter()
    told = 0
    folded = Folded.of(subject.counted())
    for fold in _in_turn(folded):
        severity = fold.first.severity
        if subject.everything or shown[severity] < _MOST:
            shown[severity] += 1
            told += fold.times
            yield _annotation(subject, fold)
    counts = subject.counts
    checked = counted(len(subject.sitemaps), "sitemap")
    if not counts.total:
        yield f"No findings; {checked} checked."
        return
    parts = ", ".join(
        f"{one.value}: {number:,}" for one in Severity if (number := counts.severities[one])
    )
    yield f"{counted(counts.total, 'finding')} ({parts}); {checked} checked."
    if told < counts.total:
        yield f"{counts.total - told:,} of them are not annotated; -f text or -f sarif shows more."


def _in_turn(folded: Folded) -> Iterator[Fold]:
    """Yield folds so that every rule comes once before any comes again."""
    folds = [fold for folds in folded.sitemaps().values() for fold in folds]
    turns: Counter[str] = Counter()
    ordered: list[tuple[int, int, Fold]] = []
    for number, fold in enumerate(folds):
        turns[fold.first.code] += 1
        ordered.append((turns[fold.first.code], number, fold))
    yield from (fold for _, _, fold in sorted(ordered, key=lambda one: one[:2]))


def _annotation(subject: Subject, fold: Fold) -> str:
    first = fold.first
    path = subject.places.relative(first.sitemap)
    title = f"{first.code} {first.name}"
    values = {"file": path, "line": first.line, "col": first.column}
    if path is None:  # an annotation can only be on a file; the rest is told
        values, title = {}, f"{title}: {subject.places.name(first.sitemap)}"
    given = {name: value for name, value in values.items() if value is not None}
    settings = ",".join(
        f"{name}={_property(str(value))}" for name, value in {**given, "title": title}.items()
    )
    more = f" (and {fold.times - first.times:,} more)" if fold.times > first.times else ""
    message = "\n".join(filter(None, [f"{printable(said(first))}{more}", first.hint]))
    return f"::{_COMMANDS[first.severity]} {settings}::{_data(message)}"


def _data(text: str) -> str:
    """Return text as the value of a command, whose line ends are escaped."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(printable(text)).replace(":", "%3A").replace(",", "%2C")
