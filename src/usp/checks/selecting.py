"""Which rules are asked: by code, by the beginning of a code, or by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from usp.checks.values import Severity

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from usp.checks.registry import Rule

ALL = "ALL"


@dataclass(frozen=True, slots=True)
class Chosen:
    """The rules that are asked, and how severe they are."""

    rules: tuple[Rule, ...]
    severities: Mapping[str, Severity]

    @classmethod
    def of(
        cls,
        rules: Mapping[str, Rule],
        select: Sequence[str],
        ignore: Sequence[str],
        severities: Mapping[str, Severity | str],
    ) -> Chosen:
        """Choose from all rules; raises ``ValueError`` if something fits none of them.

        Of what selects and what ignores a rule, the more precise one counts; of equals, what ignores.
        """
        wanted, unwanted = _fitting(rules, select or [ALL]), _fitting(rules, ignore)
        graded = {
            code: Severity(severity)
            for given, severity in sorted(severities.items(), key=lambda item: len(item[0]))
            for code in _fitting(rules, [given])
        }
        chosen = [
            rule for code, rule in rules.items() if wanted.get(code, -1) > unwanted.get(code, -1)
        ]
        return cls(
            tuple(chosen), {rule.code: graded.get(rule.code, rule.severity) for rule in chosen}
        )

    def __contains__(self, code: object) -> bool:
        return code in self.severities

    def severity(self, rule: Rule) -> Severity:
        """Return how severe a rule is."""
        return self.severities[rule.code]


def _fitting(rules: Mapping[str, Rule], given: Sequence[str]) -> dict[str, int]:
    """Return the codes that fit, each with how precisely it is named."""
    found: dict[str, int] = {}
    for text in given:
        fits = {code: len(_fit(rule, text)) for code, rule in rules.items() if _fits(rule, text)}
        if not fits:
            raise ValueError(f"no rule has the code or name {text!r}; 'usp rule --all' lists them")
        for code, precision in fits.items():
            found[code] = max(precision, found.get(code, -1))
    return found


def _fits(rule: Rule, text: str) -> bool:
    return text.upper() == ALL or rule.code.startswith(text.upper()) or rule.name == text.lower()


def _fit(rule: Rule, text: str) -> str:
    return rule.code if rule.name == text.lower() else "" if text.upper() == ALL else text
