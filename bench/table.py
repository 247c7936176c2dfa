"""The results as tables in Markdown."""

from __future__ import annotations

import math
import os
import platform
import statistics
from pathlib import Path
from typing import TYPE_CHECKING

from bench.environments import OURS

if TYPE_CHECKING:
    from bench.bars import Verdict
    from bench.results import Results

_MIB = 1024 * 1024
_NO_RIVALS = (OURS, "curl", "expat")
NO_RACE = ("same: ",)
_HEAD = (
    "case", "contender", "wall s", "spread", "CPU s", "peak MiB", "URLs found",
    "requests", "at once", "usp is", "by CPU",
)  # fmt: skip


def machine() -> str:
    """Describe where the run took place."""
    cpu = memory = "?"
    if (info := Path("/proc/cpuinfo")).exists():
        names = [
            line.partition(":")[2] for line in info.read_text().splitlines() if "model name" in line
        ]
        cpu = names[0].strip() if names else "?"
    if (info := Path("/proc/meminfo")).exists():
        memory = f"{int(info.read_text().split()[1]) / _MIB:.0f} GiB"
    load = os.getloadavg()[0]
    return (
        f"{platform.system()}, {cpu} × {os.cpu_count()}, {memory}, "
        f"Python {platform.python_version()}, load {load:.1f} at the start"
    )


def measurements(results: Results) -> str:
    """Give one line per case and contender."""
    lines = [_line(_HEAD), _line(["---"] * len(_HEAD))]
    for case in results.cases():
        lines += [_row(results, case, contender) for contender in results.contenders(case)]
    return "\n".join(lines)


def _row(results: Results, case: str, contender: str) -> str:
    def median(field: str, form: str = ".2f") -> str:
        value = results.median(case, contender, field)
        return "" if value is None else format(value, form)

    memory = results.median(case, contender, "memory")
    error = results.error(case, contender)
    times = [r["seconds"] for r in results.of(case, contender) if "seconds" in r]
    return _line(
        [
            case,
            contender,
            median("seconds", ".3f") or f"**{error}**",
            f"{min(times):.2f} to {max(times):.2f}" if len(times) > 1 else "",
            median("cpu"),
            "" if memory is None else f"{memory / _MIB:.0f}",
            _found(results, case, contender),
            median("requests", ".0f"),
            median("max_active", ".0f"),
            _ratio(results, case, contender),
            _cpu_ratio(results, case, contender),
        ]
    )


def _found(results: Results, case: str, contender: str) -> str:
    found = sorted({r["found"] for r in results.of(case, contender) if "found" in r})
    text = " / ".join(f"{number:,}" for number in found)
    wrong = any(record.get("wrong") for record in results.of(case, contender))
    return f"**{text} (wrong)**" if wrong else text


def _ratio(results: Results, case: str, contender: str) -> str:
    if contender in _NO_RIVALS or (ratio := results.ratio(case, contender)) is None:
        return ""
    return f"{'> ' if ratio[1] else ''}{ratio[0]:.2f} ×"


def _cpu_ratio(results: Results, case: str, contender: str) -> str:
    """Give the ratio of CPU times: steadier than wall time where others use the machine too."""
    ours, theirs = (results.median(case, name, "cpu") for name in (OURS, contender))
    return f"{theirs / ours:.2f} ×" if ours and theirs and contender not in _NO_RIVALS else ""


def short(results: Results, case: str) -> str:
    """Give one line per rival of a case, the quickest first: for those who read one table only."""
    rivals = [name for name in results.contenders(case) if name not in _NO_RIVALS[1:]]
    timed = {name: results.median(case, name) for name in rivals}
    lines = [_line(["", "time", "peak memory", "URLs found", "usp is"]), "|---|--:|--:|--:|--:|"]
    for name, seconds in sorted(timed.items(), key=lambda pair: pair[1] or math.inf):
        if seconds is not None:
            memory = results.median(case, name, "memory") or 0
            ours = name == OURS
            cells = [f"{seconds:.1f} s", f"{memory / _MIB:,.0f} MiB", _found(results, case, name)]
            cells = [f"**{cell}**" if ours else cell for cell in cells]
            times = results.ratio(case, name)
            faster = "" if ours or not times else f"{times[0]:.1f} × as fast"
            lines.append(_line([f"**{name}**" if ours else name, *cells, faster]))
    return "\n".join(lines)


def span(results: Results, rival: str) -> str:
    """Give one sentence about all races with a rival: the worst, the median and the best of them."""
    races = {
        ratio[0]: case
        for case in results.cases()
        if not case.startswith(NO_RACE) and (ratio := results.ratio(case, rival))
    }
    if not races:
        return f"Not measured against {rival}."
    worst, middle, best = min(races), statistics.median(races), max(races)
    return (
        f"Against {rival}, over {len(races)} kinds of sites: {worst:.1f} times as fast in the worst\n"
        f"case (*{races[worst]}*), {middle:.1f} in the median, {best:.1f} in the best"
        f" (*{races[best]}*)."
    )


def bars(verdicts: list[Verdict]) -> str:
    """Give one line per bar."""
    lines = [_line(["bar", "wanted", "measured", "reached"]), _line(["---"] * 4)]
    words = {True: "yes", False: "**no**", None: "unknown"}
    lines += [_line([v.bar, v.wanted, v.measured, words[v.reached]]) for v in verdicts]
    return "\n".join(lines)


def _line(cells: list[str] | tuple[str, ...]) -> str:
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"
