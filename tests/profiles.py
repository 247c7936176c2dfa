"""How many examples of a law are tried: few while somebody waits, all of them in CI.

``HYPOTHESIS_PROFILE`` is ``dev`` (the default), ``ci`` (the default where ``CI`` is set), ``long``, or ``few``: coverage
is measured with these, as a line that is reached once is reached.
"""

import os
import random
from collections.abc import Sequence
from typing import TypeVar

from hypothesis import HealthCheck, settings

# How long an example takes, and how many can be made in a second, is a matter of the machine.
settings.register_profile("usp", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("usp")

T = TypeVar("T")

FACTORS = {"few": 0.01, "dev": 0.1, "ci": 0.2, "long": 20.0}
PROFILE = os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "dev")


def examples(count: int) -> int:
    """Return how many examples to try of a law that is worth ``count`` of them in CI."""
    return max(5, round(count * FACTORS[PROFILE]))


def some(values: Sequence[T]) -> Sequence[T]:
    """Return all values of a list in CI, else one in four, others in each run."""
    return random.sample(values, -(-len(values) // 4)) if PROFILE in ("few", "dev") else values
