"""Generated websites: every page that was served is found, every failure is named, nothing else.

``USP_FAULT_SITES`` is how many in the long run (1,000 unless told), ``USP_FAULT_SEED`` the first seed. A website that
goes wrong is crawled again with the command that is printed.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FEW = 60  # in the ordinary run
SITES = int(os.environ.get("USP_FAULT_SITES", "1000"))
SEED = int(os.environ.get("USP_FAULT_SEED", "0"))
PROCESSES = min(2, os.cpu_count() or 1)


@pytest.mark.parametrize("sites", [FEW, pytest.param(SITES, marks=pytest.mark.long)])
def test_generated_websites_are_found_as_far_as_they_were_served(sites):
    root = Path(__file__).parent.parent.parent
    command = [sys.executable, "-m", "tests.faults", "--step", str(PROCESSES)]
    processes = [
        subprocess.Popen(
            [*command, "--seed", str(SEED + number), "--count", str(sites // PROCESSES)],
            cwd=root,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for number in range(PROCESSES)
    ]
    outputs = [process.communicate(timeout=600)[0] for process in processes]
    told = "".join(outputs)
    print(told[-5000:])
    print("repeat one with: python -m tests.faults --seed N [--front FRONT] [--verbose]")
    assert [process.returncode for process in processes] == [0] * PROCESSES
