"""Checks sitemaps for what the protocol and the search engines do not want.

::

    for finding in usp.check("https://example.org/"):
        print(finding.code, finding.message, finding.sitemap, finding.line)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from usp._base.names import lazy_getattr

if TYPE_CHECKING:
    from usp.checks.checking import check, check_async, findings_of
    from usp.checks.finding import Baseline, Finding, Severity
    from usp.checks.registry import Group, Rule
    from usp.checks.rules import RULES
    from usp.checks.verdicts import Color, RuleRow, Verdict, verdict
else:
    __getattr__ = lazy_getattr(__name__)

__all__ = [
    "RULES",
    "Baseline",
    "Color",
    "Finding",
    "Group",
    "Rule",
    "RuleRow",
    "Severity",
    "Verdict",
    "check",
    "check_async",
    "findings_of",
    "verdict",
]
