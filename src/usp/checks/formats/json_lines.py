"""Findings as JSON: one object, or one per line. Neither is held in memory."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from usp.checks.formats.subject import Subject
    from usp.checks.values import Finding


def json_per_line(subject: Subject) -> Iterator[str]:
    """Yield a line for each finding."""
    yield from map(_json, subject.counted())


def json_object(subject: Subject) -> Iterator[str]:
    """Yield an object: the findings, and how many there are; a line for each finding."""
    begin = '{"findings":['
    for finding in subject.counted():
        yield begin + _json(finding)
        begin = ","
    end = "" if begin == "," else begin
    counts = subject.counts.to_dict() | {"checked": len(subject.sitemaps)}
    yield f'{end}],"counts":{_encoded(counts)}}}'


_encoded = json.JSONEncoder(separators=(",", ":")).encode


def _json(finding: Finding) -> str:
    return _encoded(finding.to_dict())
