"""Inputs that once broke a law: kept as files, and read again by every test run."""

import hashlib
import json
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fuzz_targets import TARGETS

from usp._formats.document import Role

FINDS = Path(__file__).parent / "finds"
_SECONDS = 5.0


@dataclass(frozen=True)
class Find:
    """An input, how it was asked for, and the seed of its cuts."""

    target: str
    data: bytes
    options: dict
    seed: int

    def check(self) -> None:
        """Raise if a law is broken."""
        TARGETS[self.target](self.data, self.options, random.Random(self.seed))

    @property
    def name(self) -> str:
        return f"{self.target}-{hashlib.sha1(self.data).hexdigest()[:10]}"


def broken(find: Find) -> str | None:
    """Say which law an input breaks, if it does."""
    try:
        find.check()
    except Exception as error:  # noqa: BLE001 - whatever it is, it is a find
        return f"{type(error).__name__}: {str(error)[:300]}"
    return None


def keep(find: Find, error: str) -> Path:
    """Write a find as a file, its options beside it."""
    FINDS.mkdir(exist_ok=True)
    path = FINDS / find.name
    path.write_bytes(find.data)
    role = find.options.get("role")
    options = {**find.options, "role": role.value} if role else find.options
    about = {"target": find.target, "seed": find.seed, "options": options, "error": error}
    path.with_suffix(".json").write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    return path


def kept() -> Iterator[Find]:
    """Give all finds that were kept."""
    for path in sorted(FINDS.glob("*.json")):
        about = json.loads(path.read_text(encoding="utf-8"))
        options = dict(about["options"])
        if "role" in options:
            options["role"] = Role(options["role"])
        data = path.with_suffix("").read_bytes()
        yield Find(about["target"], data, options, about["seed"])


def smaller(find: Find) -> Find:
    """Leave out of an input what is not needed to break a law."""
    chance = random.Random(0)
    size = max(1, len(find.data) // 2)
    end = time.monotonic() + _SECONDS
    while time.monotonic() < end:
        at = chance.randrange(0, max(1, len(find.data)))
        data = find.data[:at] + find.data[at + size :]
        for seed in range(find.seed, find.seed + 3):
            less = Find(find.target, data, find.options, seed)
            if data != find.data and broken(less):
                find = less
                break
        else:
            size = max(1, size * 3 // 4)
        size = min(size, max(1, len(find.data)))
    return find
