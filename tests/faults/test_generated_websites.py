"""Generated websites: every page that was served is found, every failure is named, nothing else.

``USP_FAULT_SITES`` is how many in the long run (1,000 unless told), ``USP_FAULT_SEED`` the first seed.
"""

import os

import pytest
from fault_runner import run

FEW = 60  # in the ordinary run
SITES = int(os.environ.get("USP_FAULT_SITES", "1000"))
SEED = int(os.environ.get("USP_FAULT_SEED", "0"))


@pytest.mark.parametrize("sites", [FEW, pytest.param(SITES, marks=pytest.mark.long)])
def test_generated_websites_are_found_as_far_as_they_were_served(sites):
    assert run(range(SEED, SEED + sites)) == []
