"""What widespread generators write, imitated: no rule has a warning or an error about any of it.

Each website is written as its generator does it: in one line or many, with stylesheets, comments and
schemas, its kind of dates, its robots.txt. ``@`` stands for the website, ``~{…}~`` for 25 entries, in
which ``#`` is a number and ``%d`` a day of its own.
"""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from check_examples import HOME, found_in

_, *PARTS = re.split(
    r"^=== (.+)\n",
    (Path(__file__).parent / "healthy_generators.txt").read_text(encoding="utf-8"),
    flags=re.MULTILINE,
)
SITES = dict(zip(PARTS[::2], PARTS[1::2], strict=True))
TODAY = datetime.now(UTC).date()


def written(example: str) -> str:
    def entries(found):
        days = (TODAY - timedelta(days=3 * n + 1) for n in range(25))
        return "".join(
            found[1].replace("#", str(n)).replace("%d", f"{day}") for n, day in enumerate(days)
        )

    return re.sub(r"~\{(.*?)\}~", entries, example, flags=re.DOTALL).replace("@", HOME)


@pytest.mark.parametrize("name", SITES)
def test_what_a_healthy_generator_writes_gives_no_error_and_no_warning(name):
    found = [one for one in found_in(written(SITES[name])) if one.severity != "info"]
    assert [(one.code, one.message, one.page) for one in found] == []
