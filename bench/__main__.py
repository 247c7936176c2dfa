"""``python -m bench``: make the data, serve it, let everyone read it, print the tables."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from bench import chart, table
from bench.bars import verdicts
from bench.environments import (
    CACHE,
    CONTENDERS,
    OURS,
    USUAL,
    NotInstallableError,
    python_of,
    version_of,
)
from bench.results import Results
from bench.run import run, served
from bench.shapes import FULL, QUICK, SHAPES, Case, cases


def main() -> None:
    """Do what the command line says."""
    options = _options()
    scale = QUICK if options.quick else FULL
    rounds = options.rounds or (1 if options.quick else 3)
    CACHE.mkdir(exist_ok=True)
    machine = table.machine()
    wanted = [case for case in cases(scale) if case.shape in options.shapes]
    names = [name for name in options.contenders if any(name in c.contenders for c in wanted)]
    versions = _install(names)
    results = Results()
    start = time.monotonic()
    for case in wanted:
        _measure(case, names, rounds, results)
    minutes = (time.monotonic() - start) / 60
    judged = verdicts(results, scale)
    record = {
        "machine": machine,
        "versions": versions,
        "quick": options.quick,
        "rounds": rounds,
        "measurements": results.records,
    }
    if options.out:
        options.out.write_text(json.dumps(record, indent=1) + "\n")
    if options.charts:
        chart.write(record, options.charts)
    contenders = ", ".join(f"{name} {version}".strip() for name, version in versions.items())
    print(f"{machine}. {rounds} round(s), {minutes:.1f} minutes. {contenders}.\n")
    print(table.measurements(results), "\n", table.bars(judged), sep="\n")


def _options() -> argparse.Namespace:
    def listed(text: str) -> list[str]:
        return [name for name in text.split(",") if name]

    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="reduced sizes, under two minutes")
    parser.add_argument("--shapes", type=listed, default=SHAPES, help=",".join(SHAPES))
    parser.add_argument("--rounds", type=int, help="3 unless told, 1 with --quick")
    parser.add_argument("--contenders", type=listed, default=USUAL, help=",".join(CONTENDERS))
    parser.add_argument("--out", type=Path, help="write every single measurement to this JSON file")
    parser.add_argument("--charts", type=Path, help="write the charts to this folder, as SVG")
    options = parser.parse_args()
    for given, known in ((options.shapes, SHAPES), (options.contenders, CONTENDERS)):
        if unknown := set(given).difference(known):
            parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    return options


def _install(names: list[str]) -> dict[str, str]:
    versions = {}
    for name in names:
        try:
            python_of(name)
            versions[name] = version_of(name)
        except NotInstallableError as error:
            versions[name] = f"({error})"
    return versions


def _measure(case: Case, names: list[str], rounds: int, results: Results) -> None:
    """Let the contenders take turns; each round begins with another of them."""
    contenders = [name for name in case.contenders if name in names]
    with served(case.site) as homepage:
        for turn in range(rounds * case.turns):
            for at in range(len(contenders)):
                name = contenders[(turn + at) % len(contenders)]
                if results.error(case.key, name) and name != OURS:
                    continue  # what could not run, or ran into its limit, will again
                result = run(case, name, homepage)
                results.records.append({"round": turn, **result})
                told = result.get("error") or f"{result['seconds']:.3f} s"
                print(f"{case.key}, {name}: {told}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
