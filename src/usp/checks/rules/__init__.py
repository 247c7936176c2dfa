"""All rules: a module for each digit of their codes, and one for what the parser finds."""

from __future__ import annotations

from collections.abc import Mapping

from usp.checks.registry import DECLARED, Rule
from usp.checks.rules import (  # noqa: F401 - they declare the rules
    parser_rules,
    sm1_discovery,
    sm2_transport,
    sm3_document,
    sm4_urls,
    sm5_values,
    sm6_hreflang,
    sm7_news,
    sm8_media,
    sm9_pages,
)

__all__ = ["RULES"]

RULES: Mapping[str, Rule] = dict(sorted(DECLARED.items()))
"""All rules, by their codes."""
