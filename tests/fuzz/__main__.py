"""``python -m tests.fuzz --minutes 30``: try changed cases on every parser, and keep what breaks a law.

Finds are written into ``tests/fuzz/finds``, which the tests read every time.
"""

import argparse
import logging
import random
import sys
import time
from collections import Counter
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "formats"), str(HERE.parent)]


def main() -> int:
    """Fuzz, and say what was found."""
    from fuzz_finds import Find, broken, keep, smaller  # noqa: PLC0415 - the path is set above
    from fuzz_inputs import mutated  # noqa: PLC0415
    from fuzz_targets import TARGETS  # noqa: PLC0415

    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--target", choices=list(TARGETS), action="append", help="only these")
    parser.add_argument("--seed", type=int, help="where to begin; by the clock unless told")
    parser.add_argument("--most", type=int, default=5, help="finds that are kept for a target")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    seed = first = int(time.time()) if options.seed is None else options.seed
    end = time.monotonic() + options.minutes * 60
    tried: Counter[str] = Counter()
    found: Counter[str] = Counter()
    targets = options.target or list(TARGETS)
    while time.monotonic() < end:
        for target in targets:
            if found[target] >= options.most:
                continue
            seed += 1
            tried[target] += 1
            data, how = mutated(random.Random(seed), target)
            find = Find(target, data, how, seed)
            first_error = broken(find)
            if first_error is None:
                continue
            find = smaller(find)
            error = broken(find) or f"only at times: {first_error}"
            found[target] += 1
            print(f"{keep(find, error)}\n  seed {seed}: {error}\n  {find.data[:200]!r}", flush=True)
    for target in targets:
        print(f"{target:12} {tried[target]:>8,} tried, {found[target]} finds")
    print(f"seeds {first + 1} to {seed}")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
