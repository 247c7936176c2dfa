"""The results as charts: ``python -m bench.chart RESULTS FOLDER`` from what ``--out`` wrote.

A chart is one SVG file that needs no font, script or other file, and follows the colours of the reader.
"""

from __future__ import annotations

import json
import math
import sys
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.environments import OURS, PEER
from bench.results import Results
from bench.table import NO_RACE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

MAIN = "plain: every url"
_MIB = 1024 * 1024
_NO_RIVALS = ("curl", "expat")
_WIDTH, _MARGIN, _ROW, _BAR = 560, 20, 40, 12
_STYLE = """
  svg { --paper: #fff; --ink: #1c2733; --faint: #5d6a78; --rule: #d8dee5;
        --ours: #1f63d6; --other: #8a97a6; --mark: #b3541e; --lost: #b42318 }
  @media (prefers-color-scheme: dark) {
    svg { --paper: #161b22; --ink: #e6edf3; --faint: #9aa7b4; --rule: #303944;
          --ours: #589cff; --other: #74818f; --mark: #f0a46c; --lost: #ff8a80 }
  }
  text { font: 14px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif;
         fill: var(--ink) }
  .title { font-size: 17px; font-weight: 600 }
  .note, .scale { font-size: 12.5px; fill: var(--faint) }
  .figure { text-anchor: end; font-variant-numeric: tabular-nums }
  .strong { font-weight: 600 }
  .scale { text-anchor: middle }
  .paper { fill: var(--paper); stroke: var(--rule) }
  .rule { stroke: var(--rule) }
  .ours { fill: var(--ours) }
  .other { fill: var(--other) }
  .lost { fill: var(--lost) }
  .mark { fill: var(--mark); stroke: var(--paper) }
"""


@dataclass(frozen=True, slots=True)
class Bar:
    """One line of a chart: ``length`` is measured on its scale, ``mark`` a second value on it."""

    label: str
    figure: str
    length: float
    kind: str = "ours"
    mark: float | None = None
    note: str = ""


def contenders(record: dict[str, Any]) -> str:
    """Return the chart of all contenders on the plain site, the quickest first."""
    results = Results(record["measurements"])
    bars = [
        Bar(name, figure, seconds, "ours" if name == OURS else "other")
        for name, seconds, figure in _times(results)
    ]
    most = max((bar.length for bar in bars), default=1.0)
    found = results.of(MAIN)[0]["found"] if results.of(MAIN) else 0
    title = f"Every URL of a site with {found / 1e6:g} million"
    notes = ["Seconds until the last URL, and the peak of memory: shorter is better."]
    notes += _source(record, [bar.label for bar in bars])
    return _drawn(title, notes, bars, lambda value: value / most)


def _times(results: Results) -> Iterator[tuple[str, float, str]]:
    timed = [
        (seconds, name)
        for name in results.contenders(MAIN)
        if name not in _NO_RIVALS and (seconds := results.median(MAIN, name)) is not None
    ]
    for seconds, name in sorted(timed):
        memory = results.median(MAIN, name, "memory") or 0
        records = results.of(MAIN, name)
        lost = ", loses URLs" if any(record.get("wrong") for record in records) else ""
        yield name, seconds, f"{seconds:.1f} s, {memory / _MIB:,.0f} MiB{lost}"


def shapes(record: dict[str, Any]) -> str:
    """Return the chart of all shapes against the peer: how many times as fast, the worst first."""
    results = Results(record["measurements"])
    bars = sorted(_ratios(results), key=lambda bar: bar.length)
    ends = [value for bar in bars for value in (bar.length, bar.mark or bar.length)]
    low, high = min([1.0, *ends]), max([10.0, *ends])

    def place(value: float) -> float:
        return math.log(value / low) / math.log(high / low)

    ticks = [tick for tick in (0.5, 1, 2, 5, 10, 20, 50, 100) if low <= tick <= high]
    notes = [
        f"How many times as long {PEER} took, the worst shape first;",
        "the scale is logarithmic. Bars: wall time. Diamonds: CPU time.",
        *_source(record, [OURS, PEER]),
    ]
    title = f"{OURS} against {PEER}"
    return _drawn(title, notes, bars, place, [(f"{tick:g} ×", tick) for tick in ticks])


def _ratios(results: Results) -> Iterator[Bar]:
    for case in results.cases():
        ratio = results.ratio(case, PEER)
        if ratio is None or case.startswith(NO_RACE):
            continue
        by_cpu = results.ratio(case, PEER, "cpu")
        ours, theirs = results.median(case), results.median(case, PEER)
        seconds = "stopped" if theirs is None else f"{_seconds(theirs)} → {_seconds(ours or 0)}"
        figure = f"{'> ' if ratio[1] else ''}{ratio[0]:.1f} ×"
        kind = "ours" if ratio[0] >= 1 else "lost"
        mark = by_cpu[0] if by_cpu and not by_cpu[1] else None
        yield Bar(case, figure, ratio[0], kind, mark, seconds)


def _seconds(value: float) -> str:
    return f"{value:.1f} s" if value >= 0.1 else f"{value * 1000:.0f} ms"


def _source(record: dict[str, Any], names: Sequence[str]) -> list[str]:
    """Return who was measured, and where, in lines that fit."""
    known = {name: record["versions"].get(name, "") for name in names}
    versions = ", ".join(f"{name} {version}".strip() for name, version in known.items())
    lines, line = [], ""
    for word in f"{record['machine']}. {versions}.".split():
        if len(line) + len(word) > 80:
            lines.append(line)
            line = ""
        line = f"{line} {word}".strip()
    return [*lines, line]


def _drawn(
    title: str,
    notes: Sequence[str],
    bars: Sequence[Bar],
    place: Callable[[float], float],
    ticks: Sequence[tuple[str, float]] = (),
) -> str:
    """Return a chart: ``place`` says where on the scale a value is, from 0 to 1."""
    room = _WIDTH - 2 * _MARGIN
    top = 52 + (24 if ticks else 0)
    bottom = top + len(bars) * _ROW
    height = bottom + 20 + 18 * len(notes)
    size = f'viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-labelledby="title">',
        f'<title id="title">{escape(title)}</title>',
        f"<style>{_STYLE}</style>",
        f'<rect class="paper" x="0.5" y="0.5" width="{_WIDTH - 1}" height="{height - 1}" rx="8"/>',
        f'<text class="title" x="{_MARGIN}" y="34">{escape(title)}</text>',
    ]
    for text, value in ticks:
        x = f"{_MARGIN + room * place(value):.1f}"
        lines.append(f'<line class="rule" x1="{x}" x2="{x}" y1="{top - 6}" y2="{bottom}"/>')
        lines.append(f'<text class="scale" x="{x}" y="{top - 12}">{escape(text)}</text>')
    for at, bar in enumerate(bars):
        lines += _bar(bar, top + at * _ROW, room, place)
    for at, note in enumerate(notes):
        y = bottom + 24 + 18 * at
        lines.append(f'<text class="note" x="{_MARGIN}" y="{y}">{escape(note)}</text>')
    return "\n".join([*lines, "</svg>", ""])


def _bar(bar: Bar, y: float, room: int, place: Callable[[float], float]) -> Iterator[str]:
    strong = " strong" if bar.label == OURS else ""
    yield f'<text class="label{strong}" x="{_MARGIN}" y="{y + 14}">{escape(bar.label)}</text>'
    figure, note, right = escape(bar.figure), escape(bar.note), _WIDTH - _MARGIN
    yield f'<text class="figure strong" x="{right}" y="{y + 14}">{figure}</text>'
    if note:
        yield f'<text class="figure note" x="{right - 62}" y="{y + 14}">{note}</text>'
    ends = sorted(
        (place(bar.length), max(0.0, min(place(1.0), 1.0)) if bar.kind == "lost" else 0.0)
    )
    width = max(room * (ends[1] - ends[0]), 1.5)
    x, below = _MARGIN + room * ends[0], y + 20
    yield (
        f'<rect class="{bar.kind}" x="{x:.1f}" y="{below}" width="{width:.1f}" height="{_BAR}"'
        ' rx="2"/>'
    )
    if bar.mark is not None:
        x, middle = _MARGIN + room * place(bar.mark), below + _BAR / 2
        yield (f'<path class="mark" d="M{x - 6:.1f} {middle}l6 -6l6 6l-6 6z"/>')


CHARTS = {"performance-contenders.svg": contenders, "performance-shapes.svg": shapes}


def write(record: dict[str, Any], folder: Path) -> None:
    """Write all charts into a folder; a run of other shapes leaves a chart without bars."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, chart in CHARTS.items():
        (folder / name).write_text(chart(record), encoding="utf-8")


def main() -> None:
    """Make the charts of a file of results."""
    results, folder = map(Path, sys.argv[1:])
    write(json.loads(results.read_text(encoding="utf-8")), folder)


if __name__ == "__main__":
    main()
