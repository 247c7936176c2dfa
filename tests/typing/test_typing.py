"""Type checkers in their strict modes agree with ``typical_uses.py``, what is right and what is wrong."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.mark.long
@pytest.mark.parametrize(
    ("checker", "options"),
    [
        ("mypy", ["--config-file=", f"--cache-dir={os.devnull}", "--strict", "typical_uses.py"]),
        ("basedpyright", ["--project", ".", "--pythonpath", sys.executable]),
    ],
)
def test_typical_uses_are_typed(checker, options):
    if find_spec(checker) is None:
        pytest.skip(f"{checker} is not installed: pip install {checker}")
    done = subprocess.run(
        [sys.executable, "-m", checker, *options],
        check=False, capture_output=True, text=True, cwd=HERE,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
