"""All rules: a module for each digit of their codes; here those for what the parser finds anyway.

The numbers of these, which stay, begin at 50 in each group.
"""

from __future__ import annotations

from collections.abc import Mapping

from usp.checks.finding import Severity
from usp.checks.registry import DECLARED, USUAL, Rule, RuleScope, add, sources_of
from usp.checks.rules import (  # noqa: F401 - they declare the rules
    sm1_discovery,
    sm2_transport,
    sm3_document,
    sm4_mistakes,
    sm4_urls,
    sm5_values,
    sm6_hreflang,
    sm7_news,
    sm8_media,
    sm9_pages,
)
from usp.objects.problem import FailureCode, ProblemCode

__all__ = ["RULES"]

for _code in (*FailureCode, *ProblemCode):
    add(
        Rule(
            *(_code.rule, _code.value, Severity(_code.severity), RuleScope.PARSER),
            summary=f"{_code.message[0].upper()}{_code.message[1:]}.",
            why=_code.meaning,
            sources=sources_of(USUAL.get(_code.rule[2], {}).get("Source", "protocol")),
            bad=_code.example,
            hint=_code.hint,
        )
    )

RULES: Mapping[str, Rule] = dict(sorted(DECLARED.items()))
"""All rules, by their codes."""
