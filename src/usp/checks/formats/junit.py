"""Findings as JUnit XML, for test reports: a suite for each sitemap, a test for each rule it breaks."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

import usp
from usp._base.display import counted
from usp._base.safe_text import printable
from usp.checks.folding import Folded
from usp.checks.places import said, spot

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from usp.checks.folding import Fold
    from usp.checks.formats.subject import Subject

_EXAMPLES = 20
_MOST_SITEMAPS = 500


def junit(subject: Subject) -> Iterator[str]:
    """Yield the document. A sitemap without findings is a test that passed.

    A finding that is not a failure passes too, and stands in the output of its suite.
    """
    folded = Folded.of(
        subject.counted(),
        examples=1_000_000 if subject.everything else _EXAMPLES,
        most_sitemaps=1_000_000 if subject.everything else _MOST_SITEMAPS,
    )
    found = folded.sitemaps()
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield "<testsuites>"
    time = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S")
    number = 0
    for sitemap in dict.fromkeys([*subject.sitemaps, *found]):
        yield from _suite(subject, number, time, sitemap, found.get(sitemap, []))
        number += 1
    if folded.elsewhere:
        yield from _others(subject, number, time, folded)
    yield "</testsuites>"


def _suite(
    subject: Subject, number: int, time: str, sitemap: str, folds: Sequence[Fold]
) -> Iterator[str]:
    name = subject.places.name(sitemap)
    failed = sum(subject.fails(fold.first) for fold in folds)
    yield _head(number, time, name, tests=max(len(folds), 1), failures=failed)
    if not folds:
        yield f'<testcase name="check" classname={_attribute(name)} time="0"/>'
    told: list[str] = []
    for fold in folds:
        first = fold.first
        case = (
            f"<testcase name={_attribute(f'{first.code} {first.name}')} "
            f'classname={_attribute(name)} time="0"'
        )
        if not subject.fails(first):
            yield f"{case}/>"
            told += _lines(fold)
            continue
        message = _attribute(f"{counted(fold.times, 'finding')}: {said(first)}")
        yield f"{case}>"
        yield f"<failure type={_attribute(first.severity.value)} message={message}>"
        yield _text("\n".join([*_lines(fold), first.hint]))
        yield "</failure></testcase>"
    yield from _tail(told)


def _others(subject: Subject, number: int, time: str, folded: Folded) -> Iterator[str]:
    """Yield a suite for the sitemaps that have none of their own."""
    others = list(folded.elsewhere.values())
    failed = sum(subject.fails(one.first) for one in others)
    yield _head(number, time, "other sitemaps", tests=len(others), failures=failed)
    for one in others:
        many = f"{counted(one.times, 'finding')} in {counted(len(one.sitemaps), 'sitemap')}"
        name = _attribute(f"{one.first.code} {one.first.name}")
        yield f'<testcase name={name} classname="other sitemaps" time="0">'
        if subject.fails(one.first):
            kind = _attribute(one.first.severity.value)
            yield f"<failure type={kind} message={_attribute(many)}>{_text(one.first.hint)}</failure>"
        yield "</testcase>"
    yield from _tail([])


def _head(number: int, time: str, name: str, *, tests: int, failures: int) -> str:
    return (
        f'<testsuite id="{number}" name={_attribute(name)} package="usp.check" '
        f'timestamp="{time}" hostname="localhost" tests="{tests}" failures="{failures}" '
        'errors="0" time="0"><properties>'
        f'<property name="usp" value={_attribute(usp.__version__)}/></properties>'
    )


def _tail(told: Sequence[str]) -> Iterator[str]:
    yield "<system-out>" + _text("\n".join(told)) + "</system-out>"
    yield "<system-err></system-err></testsuite>"


def _lines(fold: Fold) -> list[str]:
    lines = [": ".join(filter(None, [spot(example), said(example)])) for example in fold.examples]
    return [*lines, f"and {fold.more:,} more"] if fold.more else lines


def _text(text: str) -> str:
    return escape("\n".join(map(printable, text.split("\n"))))


def _attribute(text: str) -> str:
    return quoteattr(printable(" ".join(text.split())))
