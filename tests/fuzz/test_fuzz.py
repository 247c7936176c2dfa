"""Every parser keeps its promises on inputs that nobody has thought of.

``USP_FUZZ_SECONDS`` is how long all targets are tried together (6 unless told), ``USP_FUZZ_SEED`` where
they begin. For longer runs: ``python -m tests.fuzz --minutes 30``.
"""

import os
import random
import time

import pytest
from fuzz_finds import Find, broken, kept
from fuzz_inputs import TOKENS, mutated, seeds
from fuzz_targets import TARGETS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from profiles import examples
from together import together

SECONDS = float(os.environ.get("USP_FUZZ_SECONDS", "6"))
SEED = int(os.environ.get("USP_FUZZ_SEED", "1"))
LAW = settings(max_examples=examples(30), suppress_health_check=list(HealthCheck))
SOUP = st.lists(st.sampled_from(TOKENS) | st.binary(max_size=8), max_size=30).map(b"".join)


@together("find", kept())
def test_what_was_found_before_does_not_come_back(find):
    find.check()


@pytest.mark.parametrize("target", TARGETS)
@LAW
@given(data=SOUP | st.binary(max_size=300), seed=st.integers(0, 1000), case=st.integers(0))
def test_a_parser_keeps_its_promises_on_anything(target, data, seed, case):
    options = seeds(target)[case % len(seeds(target))][1]
    Find(target, data, options, seed).check()


@pytest.mark.parametrize("target", TARGETS)
def test_a_parser_keeps_its_promises_on_changed_cases(target):
    end = time.monotonic() + SECONDS / len(TARGETS)
    seed = SEED
    while time.monotonic() < end:
        data, options = mutated(random.Random(seed), target)
        error = broken(Find(target, data, options, seed))
        assert error is None, f"seed {seed}: {error}\n{data[:500]!r}\n{options}"
        seed += 1
