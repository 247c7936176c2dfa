"""Findings as SARIF 2.1.0, for code scanning. Results are written as they are found."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import usp
from usp.checks.places import said
from usp.checks.values import Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from usp.checks.formats.subject import Subject
    from usp.checks.registry import Rule
    from usp.checks.values import Finding

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_ROOT = "%SRCROOT%"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_MOST = 100  # results of one rule in one sitemap; GitHub refuses files with many thousands
_NUMBER = re.compile(r"[0-9]+")
_URI = re.compile(r"[^!#$%&'()*+,./0-9:;=?@A-Z_a-z~\[\]-]")


def sarif(subject: Subject) -> Iterator[str]:
    """Yield a SARIF log. Of many findings of one rule in a sitemap, the rest is one result."""
    numbers = {rule.code: number for number, rule in enumerate(subject.rules)}
    driver = {
        "name": "usp",
        "version": usp.__version__,
        "rules": [_rule(rule) for rule in subject.rules],
    }
    bases = {_ROOT: {"uri": f"{subject.places.folder.as_uri()}/"}}
    yield (
        f'{{"$schema":{_json(SCHEMA)},"version":"2.1.0","runs":[{{"tool":{{"driver":'
        f'{_json(driver)}}},"originalUriBaseIds":{_json(bases)},"columnKind":"unicodeCodePoints",'
    )
    begin = '"results":['
    for finding in _folded(subject):
        yield begin + _json(_result(subject, finding, numbers))
        begin = ","
    yield "]}]}" if begin == "," else f"{begin}]}}]}}"


def _folded(subject: Subject) -> Iterator[Finding]:
    """Yield findings; those of one rule in one sitemap that are too many are one at the end."""
    if subject.everything:
        yield from subject.counted()
        return
    written: Counter[tuple[str, str]] = Counter()
    rest: dict[tuple[str, str], Finding] = {}
    times: Counter[tuple[str, str]] = Counter()
    for finding in subject.counted():
        at = finding.sitemap, finding.code
        written[at] += 1
        if written[at] <= _MOST:
            yield finding
            continue
        rest.setdefault(at, finding)
        times[at] += finding.times
    for at, finding in rest.items():
        yield replace(finding, times=times[at])


def _rule(rule: Rule) -> dict[str, Any]:
    described: dict[str, Any] = {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.why or rule.summary},
        "help": {"text": _help(rule), "markdown": _help(rule, mark=True)},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {"tags": [rule.group.name.lower()]},
    }
    if rule.sources:
        described["helpUri"] = rule.sources[0]
    return described


def _help(rule: Rule, *, mark: bool = False) -> str:
    """Return the documentation of a rule as text or Markdown."""
    parts = [rule.summary, rule.why]
    for title, example in rule.examples:
        parts += [f"**{title}**", f"```xml\n{example}\n```"] if mark else [f"{title}:", example]
    sources = [f"<{source}>" if mark else source for source in rule.sources]
    return "\n\n".join(filter(None, [*parts, rule.hint, "\n".join(sources)]))


def _result(subject: Subject, finding: Finding, numbers: Mapping[str, int]) -> dict[str, Any]:
    more = f" ({finding.times:,} times)" if finding.times > 1 else ""
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "level": _LEVELS[finding.severity],
        "message": {"text": f"{said(finding)}{more}"},
        "locations": [{"physicalLocation": _location(subject, finding)}],
        "partialFingerprints": {"finding/v1": _fingerprint(subject, finding)},
    }
    if finding.code in numbers:
        result["ruleIndex"] = numbers[finding.code]
    if finding.times > 1:
        result["occurrenceCount"] = finding.times
    if finding.page is not None:
        result["properties"] = {"page": finding.page}
    return result


def _location(subject: Subject, finding: Finding) -> dict[str, Any]:
    artifact = {"uri": _escaped(subject.places.uri(finding.sitemap))}
    if subject.places.relative(finding.sitemap) is not None:
        artifact["uriBaseId"] = _ROOT
    location: dict[str, Any] = {"artifactLocation": artifact}
    if finding.line is not None:
        location["region"] = {"startLine": finding.line}
        if finding.column is not None:
            location["region"]["startColumn"] = finding.column
    return location


def _escaped(uri: str) -> str:
    """Return a URI whose other characters are percent-encoded; websites write all kinds of URLs."""
    return _URI.sub(
        lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode(errors="replace")), uri
    )


def _fingerprint(subject: Subject, finding: Finding) -> str:
    """Return what stays the same when a finding moves to another line."""
    about = finding.page or _NUMBER.sub("#", finding.message)
    parts: Iterable[str] = (finding.code, subject.places.name(finding.sitemap), about)
    return hashlib.sha256("\n".join(parts).encode(errors="replace")).hexdigest()[:32]


_json = json.JSONEncoder(separators=(",", ":")).encode
