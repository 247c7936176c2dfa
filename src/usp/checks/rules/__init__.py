"""All rules, in groups; importing this package declares them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from usp.checks import registry
from usp.checks.rules import (
    discovery,
    document,
    folders,
    frequencies,
    hreflang,
    media,
    news,
    pages,
    parsed,
    robots_txt,
    transport,
    urls,
    values,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from usp.checks.registry import Rule

__all__ = ["RULES"]

GROUPS = (
    parsed,
    robots_txt,
    discovery,
    folders,
    transport,
    document,
    urls,
    values,
    frequencies,
    hreflang,
    news,
    media,
    pages,
)
"""The modules with rules."""

RULES: Mapping[str, Rule] = dict(sorted(registry.known_rules().items()))
"""All rules, by their codes."""
