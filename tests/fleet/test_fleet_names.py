"""``usp.fleet`` offers its names without loading what they need."""

from __future__ import annotations

import subprocess
import sys

import pytest

import usp.fleet
from usp._base.names import ELSEWHERE


def test_the_names_that_are_offered_are_the_ones_that_are_found():
    offered = {name for name, place in ELSEWHERE["usp.fleet"].items() if ":" in place}
    assert offered == set(usp.fleet.__all__) <= set(dir(usp.fleet))


@pytest.mark.parametrize(
    "expression",
    ["usp.fleet.run.crawl_fleet", "usp.fleet.FleetOptions", "usp.fleet.options.FLEET_LIMITS"],
)
def test_parts_are_loaded_when_they_are_named(expression):
    code = f"import sys, usp.fleet; assert 'usp.fleet.options' not in sys.modules; {expression}"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
