"""How findings are written: as text, JSON, SARIF, JUnit, GitHub annotations and Markdown."""

from __future__ import annotations

import hashlib
import json
import re
import textwrap
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import chain, zip_longest
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from xml.etree.ElementTree import Element, SubElement, tostring

import usp
from usp._base.display import counted, excerpt, printable
from usp._base.urls import PAGES, quote
from usp.checks.finding import (
    Finding,
    Severity,
    docs_url,
    line_col,
    message_of,
    path_of,
    rule_url,
    subject_of,
)
from usp.checks.verdicts import CheckList, Color, RuleRow, by_sitemap, judge
from usp.export.text_formats import json_list
from usp.objects.sitemap import IndexRobotsTxtSitemap

if TYPE_CHECKING:
    from usp.checks.finding import Baseline
    from usp.checks.registry import Rule
    from usp.checks.verdicts import Verdict
    from usp.objects.abstract_sitemap import AbstractSitemap
    from usp.objects.problem import FailureCode


@dataclass(slots=True)
class CheckReport:
    """Findings, which are read once and counted, and how they are shown, as seen from a ``folder``.

    ``sitemaps`` are the URLs of everything that is checked, ``rules`` those that are asked. Findings
    below the severity ``fail_on`` are not failures; None: none is one. ``everything`` shows
    findings one by one that are otherwise grouped by rule, or ``by_sitemap``. ``paint`` returns text in
    a style (a severity, ``title``, ``dim``), for terminals with colors; ``width`` is where lines are
    wrapped, None if no terminal shows them. The verdict is one on ``trees``, if they are given;
    ``remedy`` returns what helps against a failure, and ``hint`` what to do about the findings of a
    rule, in the words of whoever shows it. Findings in the ``baseline`` are left out.
    """

    findings: Iterable[Finding]
    sitemaps: Sequence[str] = ()
    rules: Sequence[Rule] = ()
    fail_on: Severity | None = Severity.WARNING
    everything: bool = False
    by_sitemap: bool = False
    paint: Callable[[str, str], str] = lambda text, _style: text
    width: int | None = None
    folder: Path = field(default_factory=Path.cwd)
    counts: CheckList = field(default_factory=CheckList)
    trees: Sequence[AbstractSitemap] = ()
    baseline: Baseline | None = None
    remedy: Callable[[FailureCode], str] | None = None
    hint: Callable[[RuleRow], str] = attrgetter("hint")

    def __post_init__(self) -> None:
        self.folder = self.folder.resolve()
        new = self.findings if self.baseline is None else self.baseline.new(self.findings)
        self.findings = self.counts.counted(new)

    @property
    def known(self) -> int:
        """How many findings the baseline has left out, as soon as they have been read."""
        return 0 if self.baseline is None else self.baseline.left_out

    def verdict(self) -> Verdict:
        """Return the verdict."""
        result = judge(self.trees, self.counts, known=self.known)
        if result.code is None or self.remedy is None:
            return result
        return replace(result, advice=self.remedy(result.code))

    def relative(self, url: str) -> str | None:
        """Return the path of a local sitemap inside the folder, with slashes."""
        path = path_of(url)
        if path is None or not path.is_relative_to(self.folder):
            return None
        return path.relative_to(self.folder).as_posix()

    def name(self, url: str) -> str:
        """Return the path of a local sitemap, relative if it is in the folder; otherwise its URL."""
        return self.relative(url) or str(path_of(url) or url)


_encoded = json.JSONEncoder(separators=(",", ":")).encode
_LONGEST = 160  # characters of a message that is only an example
_NARROWEST = 30
_EXAMPLES = 3  # of a rule
_MANY = 10  # rules, whose counts come first
_STYLES = {Color.RED: "error", Color.AMBER: "warning", Color.GREEN: "good"}


def text(report: CheckReport) -> Iterator[str]:
    """Yield the findings by rule, or by sitemap; at the end the verdict, and how many there are."""
    found, is_short = report.counts, False
    if report.everything:
        yield from (_line(report, finding) for finding in report.findings)
    elif report.by_sitemap:
        sitemaps = by_sitemap(report.findings, _EXAMPLES)
        yield from _by_sitemap(report, sitemaps)
        rows = chain.from_iterable(sitemaps.values())
        is_short = "" in sitemaps or any(row.more for row in rows)
    else:
        deque(report.findings, 0)
        if len(found.rules) > _MANY:
            yield from _overview(report)
        for row in found.rules:
            if row.count > _EXAMPLES + 1:  # "1 more" takes as much room as it
                del row.examples[_EXAMPLES:]
            is_short = is_short or row.more > 0
            yield from _row(report, row)
            yield ""
    if report.trees:
        result = report.verdict()
        lines = _wrapped(report, "", printable(str(result)), "")
        yield from (report.paint(line, _STYLES[result.color]) for line in lines)
        if advice := result.what_to_do():
            yield from _wrapped(report, "  ", printable(advice), "  ")
    yield _totals(report)
    if found.rules and not report.everything:
        more = "; --all lists every finding" if is_short else ""
        yield f"'usp rule {found.rules[0].code}' explains a rule{more}."


def _overview(report: CheckReport) -> Iterator[str]:
    """Yield how often each rule found something, in columns."""
    rows = report.counts.rules
    counts = [f"{row.count:,}" for row in rows]
    names = [f"{row.code} {row.name}" for row in rows]
    wide, long = max(map(len, counts)), max(map(len, names))
    for row, count, name in zip(rows, counts, names, strict=True):
        severity = report.paint(f"{row.severity.value:<7}", row.severity.value)
        where = f"in {_documents(row)}"
        yield f"{severity} {count:>{wide}}  {report.paint(f'{name:<{long}}', 'title')}  {where}"
    yield ""


def _by_sitemap(report: CheckReport, sitemaps: Mapping[str, Sequence[RuleRow]]) -> Iterator[str]:
    for sitemap, rows in sitemaps.items():
        name = printable(report.name(sitemap)) if sitemap else "Other sitemaps"
        yield report.paint(name, "title")
        for row in rows:
            yield from (
                _row(report, row, of_sitemap=True) if sitemap else [f"  {_title(report, row)}"]
            )
        yield ""
    if report.counts.rules:
        yield report.paint("What to do", "title")
        for row in report.counts.rules:
            begin = f"  {row.code} "
            yield from _wrapped(report, begin, printable(report.hint(row) or row.name), begin)
        yield ""


def _title(report: CheckReport, row: RuleRow) -> str:
    severity = report.paint(row.severity.value, row.severity.value)
    return f"{severity} {report.paint(f'{row.code} {row.name}', 'title')}: {_how_many(row)}"


def _documents(row: RuleRow) -> str:
    """Return in how many documents a rule found something; pages that were built are no sitemaps."""
    first = row.examples[0].sitemap if row.examples else ""
    is_page = first.startswith("file:") and first.endswith(PAGES)
    return counted(row.sitemaps, "file" if is_page else "sitemap")


def _how_many(row: RuleRow) -> str:
    where = f" in {_documents(row)}" if row.sitemaps > 1 else ""
    return f"{counted(row.count, 'finding')}{where}"


def _row(report: CheckReport, row: RuleRow, *, of_sitemap: bool = False) -> Iterator[str]:
    """Yield what a rule found: how often, what to do, examples with their places.

    In rows of one sitemap, that and what to do stands elsewhere. Where no terminal shows them, lines of
    examples have all that ``grep`` may look for.
    """
    yield f"{'  ' if of_sitemap else ''}{_title(report, row)}"
    if not of_sitemap:
        yield from _wrapped(report, "  ", printable(report.hint(row) or row.name), "  ")
    room = max(len(line_col(example)) for example in row.examples)
    margin = "    " if of_sitemap else "      "
    sitemap = None
    for example in row.examples:
        if report.width is None and not of_sitemap:
            yield _line(report, example)
            continue
        if example.sitemap != sitemap and not of_sitemap:
            sitemap = example.sitemap
            yield report.paint(f"    {printable(report.name(sitemap))}", "dim")
        begin = f"{margin}{line_col(example):>{room}}  " if room else margin
        what = excerpt(printable(message_of(example)), _LONGEST)
        yield from _wrapped(report, begin, what, report.paint(begin, "dim"))
    if row.more:
        yield report.paint(f"    and {row.more:,} more", "dim")


def _line(report: CheckReport, finding: Finding) -> str:
    """Return a finding in a line for ``grep`` and editors: where, how bad, which rule, what."""
    place = ":".join(filter(None, [report.name(finding.sitemap), line_col(finding)]))
    severity = report.paint(finding.severity.value, finding.severity.value)
    often = f" ({finding.times:,} times)" if finding.times > 1 else ""
    return f"{printable(place)}: {severity} {finding.code} {printable(message_of(finding))}{often}"


def _wrapped(report: CheckReport, begin: str, text: str, painted: str) -> Iterator[str]:
    """Yield a text in lines that fit, all but the first indented; URLs are not broken.

    Before the first one is ``begin``, as it was ``painted``.
    """
    lines = [text]
    if report.width is not None:
        room = max(report.width - len(begin), _NARROWEST)
        lines = textwrap.wrap(text, room, break_long_words=False, break_on_hyphens=False) or lines
    yield painted + lines[0]
    yield from (" " * len(begin) + line for line in lines[1:])


def _totals(report: CheckReport) -> str:
    """Return how much was found and checked."""
    counts, checked = report.counts, counted(len(report.sitemaps), "sitemap")
    below = chain.from_iterable(tree.all_sitemaps() for tree in report.trees)
    if any(isinstance(node, IndexRobotsTxtSitemap) for node in below):
        checked += " and robots.txt"  # which the tree counts among the sitemaps
    if not counts.total:
        new = "new " if report.known else ""
        return report.paint(f"No {new}findings; {checked} checked.", "good")
    return f"{counts.text(report.paint)}; {checked} checked."


def json_per_line(report: CheckReport) -> Iterator[str]:
    """Yield a line for each finding."""
    yield from (_encoded(finding.to_dict()) for finding in report.findings)


def json_object(report: CheckReport) -> Iterator[str]:
    """Yield an object: the findings, how many there are, and the verdict; a line for each finding."""

    def end() -> str:
        counts = report.counts.to_dict() | {"checked": len(report.sitemaps)}
        result = report.verdict().to_dict() if report.trees else None
        return f',"counts":{_encoded(counts)},"verdict":{_encoded(result)}}}'

    return json_list('{"findings":[', json_per_line(report), end)


_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
_MOST_ANNOTATIONS = 10  # annotations of a severity in a step


def github(report: CheckReport) -> Iterator[str]:
    """Yield the annotations, and a summary."""
    shown: Counter[Severity] = Counter()
    annotated = 0
    turns: dict[str, list[RuleRow]] = {}
    for sitemap, rows in by_sitemap(report.findings).items():
        for row in rows if sitemap else ():  # an annotation is about one
            turns.setdefault(row.code, []).append(row)
    # Every rule comes once before any comes again.
    for group in filter(None, chain.from_iterable(zip_longest(*turns.values()))):
        severity = group.severity
        if report.everything or shown[severity] < _MOST_ANNOTATIONS:
            shown[severity] += 1
            annotated += group.count
            yield _annotation(report, group)
    yield _totals(report)
    if left := report.counts.total - annotated:
        yield f"{left:,} of them are not annotated; -f text or -f sarif shows more."


def _annotation(report: CheckReport, group: RuleRow) -> str:
    first = group.examples[0]
    path = report.relative(first.sitemap)
    title = f"{first.code} {first.name}"
    values = _given(file=path, line=first.line, col=first.column, title=title)
    if path is None:  # an annotation can only be on a file; the rest is a message
        values = {"title": f"{title}: {report.name(first.sitemap)}"}
    settings = ",".join(f"{name}={_property(str(value))}" for name, value in values.items())
    more = f" (and {group.count - first.times:,} more)" if group.count > first.times else ""
    message = "\n".join(filter(None, [f"{printable(message_of(first))}{more}", first.hint]))
    return f"::{_COMMANDS[first.severity]} {settings}::{_data(message)}"


def markdown(report: CheckReport) -> Iterator[str]:
    """Yield a summary: the verdict, and a table of rules with links to their pages."""
    deque(report.findings, 0)
    return job_summary(report)


def job_summary(report: CheckReport) -> Iterator[str]:
    """Yield the summary of findings that were counted already."""
    yield from ("## Sitemaps", "")
    if report.trees:
        result = report.verdict()
        more = " ".join(filter(None, [result.sentence, result.what_to_do()]))
        yield from (f"**{result.color.capitalize()}**: {_cell(more)}", "")
    if report.counts.rules:
        yield "| severity | rule | findings | sitemaps | the first | what to do |"
        yield "|---|---|--:|--:|---|---|"
    for row in report.counts.rules:
        first, title = row.examples[0], f"{row.code} {row.name}"
        if url := rule_url(row.code, row.name):
            title = f"[{title}]({url})"
        place = ":".join(filter(None, [report.name(first.sitemap), line_col(first)]))
        cells = f"{row.severity.value} | {title} | {row.count:,} | {row.sitemaps:,}"
        said = _cell(f"{place}: {excerpt(message_of(first), _LONGEST)}")
        yield f"| {cells} | {said} | {_cell(row.hint)} |"
    yield from ("", _totals(report))


def _cell(text: str) -> str:
    """Return text as it is, in Markdown: what would be markup or the end of a cell is escaped."""
    return _MARKUP.sub(r"\\\g<0>", printable(" ".join(text.split())))


_MARKUP = re.compile(r"[\\`*_{}\[\]<>#|~@!&]")


def _data(text: str) -> str:
    """Return text as the value of a command, whose line ends are escaped."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(printable(text)).replace(":", "%3A").replace(",", "%2C")


def junit(report: CheckReport) -> Iterator[str]:
    """Yield the document. A sitemap without findings is a test that passed.

    A finding that is not a failure passes too, and stands in the output of its suite.
    """
    most = (1_000_000, 1_000_000) if report.everything else (20, 500)  # examples, suites
    found = by_sitemap(report.findings, *most)
    yield from ('<?xml version="1.0" encoding="UTF-8"?>', "<testsuites>")
    time = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S")
    for number, url in enumerate(dict.fromkeys([*report.sitemaps, *found])):
        name, groups = report.name(url) if url else "other sitemaps", found.get(url, [])
        about = {"id": str(number), "name": _one_line(name), "package": "usp.check"}
        about |= {"timestamp": time, "hostname": "localhost", "tests": str(max(len(groups), 1))}
        yield tostring(_suite(report, about, groups), "unicode")
    yield "</testsuites>"


def _suite(report: CheckReport, about: dict[str, str], groups: list[RuleRow]) -> Element:
    """Return what was found in a sitemap: a test for each rule."""
    least = -1 if report.fail_on is None else report.fail_on.rank
    failed = sum(group.severity.rank <= least for group in groups)
    suite = Element("testsuite", about, failures=str(failed), errors="0", time="0")
    SubElement(SubElement(suite, "properties"), "property", name="usp", value=usp.__version__)
    output: list[str] = []
    case = {"classname": about["name"], "time": "0"}
    if not groups:
        SubElement(suite, "testcase", {"name": "check"} | case)
    for group in groups:
        first, (summary, lines) = group.examples[0], _case(group)
        test = SubElement(suite, "testcase", {"name": f"{first.code} {first.name}"} | case)
        if first.severity.rank <= least:
            kind, message = first.severity.value, _one_line(summary)
            failure = SubElement(test, "failure", type=kind, message=message)
            failure.text = f"\n{_lines([*lines, first.hint])}\n"
        else:
            output += lines
    SubElement(suite, "system-out").text = _lines(output)
    SubElement(suite, "system-err")
    return suite


def _case(group: RuleRow) -> tuple[str, list[str]]:
    """Return the findings of one rule as a test: a summary, and lines about each."""
    if group.sitemaps > 1:
        return _how_many(group), []
    lines = [": ".join(filter(None, [line_col(one), message_of(one)])) for one in group.examples]
    if group.more:
        lines.append(f"and {group.more:,} more")
    return f"{counted(group.count, 'finding')}: {message_of(group.examples[0])}", lines


def _one_line(text: str) -> str:
    return printable(" ".join(text.split()))


def _lines(texts: Iterable[str]) -> str:
    return "\n".join(map(printable, "\n".join(texts).split("\n")))


SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_ROOT = "%SRCROOT%"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_MOST_RESULTS = 100  # results of one rule in one sitemap; GitHub refuses files with many thousands
_URI = "!#$%&'()*+,/:;=?@[]"  # characters that are not escaped; websites write all kinds of URLs


def sarif(report: CheckReport) -> Iterator[str]:
    """Yield a SARIF log. Of many findings of one rule in a sitemap, the rest is one result."""
    numbers = {rule.code: number for number, rule in enumerate(report.rules)}
    rules = [_described(rule) for rule in report.rules]
    driver = {"name": "usp", "version": usp.__version__, "rules": rules}
    driver |= _given(informationUri=docs_url() or None)
    bases = {_ROOT: {"uri": f"{report.folder.as_uri()}/"}}
    yield (
        f'{{"$schema":{_encoded(SCHEMA)},"version":"2.1.0","runs":[{{"tool":{{"driver":'
        f'{_encoded(driver)}}},"originalUriBaseIds":{_encoded(bases)},"columnKind":"unicodeCodePoints",'
    )
    results = (_encoded(_result(report, finding, numbers)) for finding in _bounded(report))
    yield from json_list('"results":[', results, lambda: "}]}")


def _bounded(report: CheckReport) -> Iterator[Finding]:
    """Yield findings; those of one rule in one sitemap that are too many are one at the end."""
    written: Counter[tuple[str, str]] = Counter()
    rest: dict[tuple[str, str], RuleRow] = {}
    for finding in report.findings:
        at = finding.sitemap, finding.code
        written[at] += 1
        if report.everything or written[at] <= _MOST_RESULTS:
            yield finding
        else:
            rest.setdefault(at, RuleRow.of(finding)).add(finding, 1)
    yield from (replace(group.examples[0], times=group.count) for group in rest.values())


def _given(**values: Any) -> dict[str, Any]:
    """Return the values that are known, by name."""
    return {name: value for name, value in values.items() if value is not None}


def _described(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.why or rule.summary},
        "help": {"text": _help(rule), "markdown": _help(rule, mark=True)},
        "helpUri": rule_url(rule.code, rule.name) or rule.sources[0],
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {"tags": [rule.group.name.lower()]},
    }


def _help(rule: Rule, *, mark: bool = False) -> str:
    """Return the documentation of a rule as text or Markdown."""
    parts = [rule.summary, rule.why]
    for title, example in rule.examples:
        parts += [f"**{title}**", f"```xml\n{example}\n```"] if mark else [f"{title}:", example]
    sources = [f"<{source}>" if mark else source for source in rule.sources]
    return "\n\n".join(filter(None, [*parts, rule.hint, "\n".join(sources)]))


def _result(report: CheckReport, finding: Finding, numbers: Mapping[str, int]) -> dict[str, Any]:
    more = f" ({finding.times:,} times)" if finding.times > 1 else ""
    path = report.relative(finding.sitemap)
    uri = quote(finding.sitemap, _URI, errors="replace") if path is None else quote(path)
    artifact = _given(uri=uri, uriBaseId=path and _ROOT)
    place = _given(startLine=finding.line, startColumn=finding.column) if finding.line else None
    same = "\n".join((finding.code, report.name(finding.sitemap), subject_of(finding)))
    fingerprint = hashlib.sha256(same.encode(errors="replace")).hexdigest()[:32]
    return _given(
        ruleId=finding.code,
        ruleIndex=numbers.get(finding.code),
        level=_LEVELS[finding.severity],
        message={"text": f"{message_of(finding)}{more}"},
        locations=[{"physicalLocation": _given(artifactLocation=artifact, region=place)}],
        partialFingerprints={"finding/v1": fingerprint},
        occurrenceCount=finding.times if finding.times > 1 else None,
        properties=None if finding.page is None else {"page": finding.page},
    )


Format: TypeAlias = Callable[[CheckReport], Iterator[str]]

FORMATS: Mapping[str, Format] = {  # the formats: what is checked in, lines without their ends out
    "text": text,
    "json": json_object,
    "jsonl": json_per_line,
    "sarif": sarif,
    "junit": junit,
    "github": github,
    "markdown": markdown,
}
