"""The bars of the project, judged from one run's results."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.environments import OURS, PEER, USUAL
from bench.shapes import LATENCY
from bench.wild import WAYS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.results import Results
    from bench.shapes import Scale

_MIB = 1024 * 1024
_CONNECTIONS = 8


@dataclass(frozen=True, slots=True)
class Verdict:
    """One bar: what is wanted, what was measured, and whether that is enough (None: unknown)."""

    bar: str
    wanted: str
    measured: str = ""
    reached: bool | None = None


_TIMES = (
    ("plain: every url", PEER, 15.0),
    ("plain: url and three fields", PEER, 10.0),
    ("rich: every url", PEER, 12.0),
    ("rich: every field", PEER, 5.0),
    ("rich: to_dict", PEER, 4.0),
    ("wild: every url", PEER, 10.0),
    ("wild: url and three fields", PEER, 6.0),
    *((f"ways: {way}", PEER, 4.0) for way in WAYS),
    ("feeds: rss", PEER, 4.0),
    ("feeds: atom", PEER, 4.0),
    ("commented: every url", PEER, 3.0),
    ("latency: every url", PEER, 6.0),
    ("many-small: every url", PEER, 2.0),
    ("many-small: usp.aio", PEER, 4.0),
    ("dead-host: never answers", PEER, 10.0),
    ("dead-host: refuses", PEER, 1.0),
    ("plain: every url", "fundus", 2.5),
)


def verdicts(results: Results, scale: Scale) -> list[Verdict]:
    """Judge every bar."""
    times = [_times(results, *row) for row in _TIMES]
    others = [
        _times(results, "plain: every url", name, 1.0)
        for name in USUAL
        if name not in {OURS, PEER, "fundus", "curl", "expat"}
    ]
    return [
        *times,
        *others,
        _memory(results),
        _floor(results),
        _connections(results, scale),
        *_growth(results, scale),
        *_stream(results, scale),
        *_export(results),
        *_snapshot(results),
        *_fleet(results, scale),
        *(_same(results, shape) for shape in ("plain", "rich")),
    ]


def _times(
    results: Results, case: str, contender: str, wanted: float, field: str = "seconds"
) -> Verdict:
    by = " by CPU" if field == "cpu" else ""
    bar, text = f"{case}, against {contender}{by}", f"≥ {wanted:g} ×"
    if (ratio := results.ratio(case, contender, field)) is None:
        return Verdict(bar, text, results.error(case, contender) or "")
    reached = True if ratio[0] >= wanted else None if ratio[1] else False
    measured = f"{'> ' if ratio[1] else ''}{ratio[0]:.2f} ×"
    if any(record.get("wrong") for record in results.of(case)):
        return Verdict(bar, text, f"{measured}, but our count is wrong", reached=False)
    if any(record.get("wrong") for record in results.of(case, contender)):
        measured += ", which lost URLs"
    return Verdict(bar, text, measured, reached)


def _same(results: Results, shape: str) -> Verdict:
    bar, text = f"same: {shape}, every field as {PEER} reads it", "yes"
    ours, theirs = (
        {record.get("digest") for record in results.of(f"same: {shape}", name)}
        for name in (OURS, PEER)
    )
    if not ours or not theirs or None in ours | theirs:
        return Verdict(bar, text)
    return Verdict(bar, text, "equal" if ours == theirs else "different", ours == theirs)


def _memory(results: Results) -> Verdict:
    case = "plain: every url"
    bar, text = "plain: peak memory", "≤ 64 MiB and below the peer's"
    ours, theirs = (results.median(case, name, "memory") for name in (OURS, PEER))
    if not ours or not theirs:
        return Verdict(bar, text)
    measured = f"{ours / _MIB:.0f} MiB, the peer {theirs / _MIB:.0f}"
    return Verdict(bar, text, measured, ours <= 64 * _MIB and ours < theirs)


def _floor(results: Results) -> Verdict:
    case = "plain: every url"
    bar, text = "plain: against curl + expat", "≤ 2.5 × the floor"
    ours, curl, expat = (results.median(case, name) for name in (OURS, "curl", "expat"))
    if not ours or not curl or not expat:
        return Verdict(bar, text)
    floor = curl + expat
    return Verdict(
        bar, text, f"{ours / floor:.2f} × ({curl:.2f} + {expat:.2f} s)", ours <= 2.5 * floor
    )


def _connections(results: Results, scale: Scale) -> Verdict:
    """Compare with robots.txt, the index, then the sitemaps eight at a time.

    The known paths need no time of their own: the first two rounds have room for them.
    """
    bar, text = "latency: against 8 connections", "≤ 1.5 × what they allow"
    if (ours := results.median("latency: every url")) is None:
        return Verdict(bar, text)
    rounds = 2 + math.ceil(scale.latency[0] / _CONNECTIONS)
    ideal = rounds * LATENCY
    return Verdict(bar, text, f"{ours / ideal:.2f} × ({ideal:.1f} s)", ours <= 1.5 * ideal)


def _growth(results: Results, scale: Scale) -> Iterator[Verdict]:
    sizes = [size for size in scale.growth if size >= 100_000]
    small, large = sizes[0], sizes[-1]
    before, after = f"growth: {small:,} URLs", f"growth: {large:,} URLs"
    time = _quotient(results, before, after, "seconds")
    bar, text = "growth: time", f"linear: ≤ 1.3 × as long per URL at {large:,} as at {small:,}"
    if time is None:
        yield Verdict(bar, text)
    else:
        per_url = time * small / large
        yield Verdict(bar, text, f"{per_url:.2f} ×", per_url <= 1.3)
    memory = _quotient(results, before, after, "memory")
    bar, text = "growth: memory", f"at {large:,} ≤ 1.2 × that at {small:,}"
    yield Verdict(bar, text, f"{memory:.2f} ×", memory <= 1.2) if memory else Verdict(bar, text)


def _quotient(results: Results, before: str, after: str, field: str) -> float | None:
    one, two = results.median(before, field=field), results.median(after, field=field)
    return two / one if one and two else None


def _stream(results: Results, scale: Scale) -> Iterator[Verdict]:
    small, large = (f"{size:,} URLs" for size in scale.stream)
    first, first_large = f"stream: first page of {small}", f"stream: first page of {large}"
    completed = results.median(first, field="completed_sitemaps")
    bar = "stream: first page before its sitemap is complete"
    error = results.error(first, OURS) or ""
    yield Verdict(bar, "yes", error if completed is None else f"{completed:g} complete",
                  None if completed is None else completed == 0)  # fmt: skip
    one, two = results.median(first), results.median(first_large)
    bar, text = "stream: first page of a site 100 × as large", "no later (within 0.1 s)"
    yield (
        Verdict(bar, text, f"{one:.2f} s, {two:.2f} s", two <= one + 0.1)
        if one and two
        else Verdict(bar, text)
    )
    memory = _quotient(results, f"stream: all of {small}", f"stream: all of {large}", "memory")
    bar, text = "stream: memory", "flat (≤ 1.2 ×)"
    yield Verdict(bar, text, f"{memory:.2f} ×", memory <= 1.2) if memory else Verdict(bar, text)
    after = results.median(f"stream: stop after 10 of {large}", field="requests_after")
    bar, text = "stream: requests after the consumer has stopped", "0"
    yield Verdict(bar, text) if after is None else Verdict(bar, text, f"{after:g}", after == 0)


def _export(results: Results) -> Iterator[Verdict]:
    """Compare with building the tree and reading every URL, in the same run."""
    for form, most in (("parquet", 1.5), ("csv", 3.0), ("jsonl", 3.0)):
        case = f"export: {form}"
        bar, text = f"{case}, against every url", f"≤ {most:g} × the CPU time"
        time = _quotient(results, "export: every url", case, "seconds")
        cpu = _quotient(results, "export: every url", case, "cpu")
        if time is None or cpu is None:
            yield Verdict(bar, text, results.error(case, OURS) or "")
            continue
        wrong = any(record.get("wrong") for record in results.of(case))
        measured = f"{cpu:.2f} × ({time:.2f} × as long){', but it is wrong' * wrong}"
        yield Verdict(bar, text, measured, cpu <= most and not wrong)
    memory = results.median("export: parquet", field="memory")
    bar, text = "export: peak memory of parquet", "< 300 MiB"
    yield (
        Verdict(bar, text, f"{memory / _MIB:.0f} MiB", memory < 300 * _MIB)
        if memory
        else Verdict(bar, text)
    )


def _snapshot(results: Results) -> Iterator[Verdict]:
    """Compare recording, loading and updating with the crawl, and with reading its tree."""
    for base, job, most in (
        ("every url", "record, every url", 1.3),
        ("iterate", "load, iterate", 1.2),
        ("every url", "update", 0.05),
    ):
        case = f"snapshot: {job}"
        bar, text = f"{case}, against {base}", f"≤ {most:g} × the time"
        time = _quotient(results, f"snapshot: {base}", case, "seconds")
        cpu = _quotient(results, f"snapshot: {base}", case, "cpu")
        if time is None or cpu is None:
            yield Verdict(bar, text, results.error(case, OURS) or "")
            continue
        wrong = any(record.get("wrong") for record in results.of(case))
        measured = f"{time:.2f} × ({cpu:.2f} × the CPU time){', but it is wrong' * wrong}"
        yield Verdict(bar, text, measured, time <= most and not wrong)


def _fleet(results: Results, scale: Scale) -> Iterator[Verdict]:
    """Compare with the peer in two processes over the same sites."""
    small, large = scale.fleet
    yield _times(results, f"fleet: {small:,} small sites that wait", PEER, 15.0)
    case = f"fleet: {small:,} small sites that wait"
    time = _quotient(results, case, f"{case}, in S3", "seconds")
    bar, text = f"{case}: in S3 on loopback, against a folder", "≤ 1.3 × as long"
    error = results.error(f"{case}, in S3", OURS) or ""
    yield Verdict(bar, text, f"{time:.2f} ×", time <= 1.3) if time else Verdict(bar, text, error)
    case = f"fleet: {large} large sites"
    yield _times(results, case, PEER, 8.0, "cpu")
    seconds, cpu = results.median(case), results.median(case, field="cpu")
    bar, text = f"{case}, both cores busy", "≥ 1.5 CPU seconds a second"
    yield (
        Verdict(bar, text, f"{cpu / seconds:.2f}", cpu / seconds >= 1.5)
        if seconds and cpu
        else Verdict(bar, text)
    )
