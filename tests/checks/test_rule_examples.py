"""Every rule finds its bad example, and nothing in its good one."""

from __future__ import annotations

import pytest
from check_examples import found_in

from usp.checks import RULES
from usp.checks.registry import RuleScope

OWN = [rule for rule in RULES.values() if rule.scope is not RuleScope.PARSER]


def checked(rule, example):
    """Return what is found in an example; pages are fetched only by rules about them."""
    return found_in(example, fetch_pages=10 if rule.scope is RuleScope.FETCHED else 0)


@pytest.mark.parametrize("rule", OWN, ids=lambda rule: f"{rule.code}-{rule.name}")
def test_a_rule_finds_its_bad_example_and_none_finds_anything_in_the_good_one(rule):
    found = [finding for finding in checked(rule, rule.bad) if finding.code == rule.code]
    assert found
    assert all(finding.hint for finding in found)
    assert checked(rule, rule.good) == []
