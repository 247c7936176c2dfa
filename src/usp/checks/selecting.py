"""Which rules are asked, and how severe they are: by code, by the beginning of a code, or by name."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

from usp.checks.registry import CODE
from usp.checks.values import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from usp.checks.registry import Rule

ALL = "ALL"
OFF = "off"
"""What can be given instead of a severity: the rule is not asked."""

_MOST_ALIKE = 3  # names that a message suggests
_ALIKE = 0.7  # of 1; how much of a name must be the same


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
        The same holds for severities, of which ``off`` is one; of equals, the last one counts.
        """
        wanted, unwanted = _fitting(rules, select or [ALL]), _fitting(rules, ignore)
        graded = _graded(rules, severities)
        chosen = [
            rule
            for code, rule in rules.items()
            if wanted.get(code, -1) > unwanted.get(code, -1) and graded.get(code) != OFF
        ]
        return cls(
            tuple(chosen),
            {rule.code: Severity(graded.get(rule.code, rule.severity)) for rule in chosen},
        )

    def __contains__(self, code: object) -> bool:
        return code in self.severities

    def severity(self, rule: Rule) -> Severity:
        """Return how severe a rule is."""
        return self.severities[rule.code]


def rules_named(rules: Mapping[str, Rule], text: str) -> list[Rule]:
    """Return the rules that a code, the beginning of a code or a name means, by their codes.

    Raises ``ValueError`` with the nearest names if there are none.
    """
    return [rules[code] for code in _fitting(rules, [text])]


def _graded(
    rules: Mapping[str, Rule], severities: Mapping[str, Severity | str]
) -> dict[str, Severity | str]:
    """Return the severities that were given, by the codes that they mean."""
    found: dict[str, tuple[int, Severity | str]] = {}
    for text, given in severities.items():
        severity = str(given).strip().lower()
        if severity not in (*Severity, OFF):
            choices = ", ".join((*Severity, OFF))
            raise ValueError(f"unknown severity {given!r} of {text}; choose from {choices}")
        for code, precision in _fitting(rules, [text]).items():
            if precision >= found.get(code, (-1,))[0]:
                found[code] = precision, severity
    return {code: severity for code, (_, severity) in found.items()}


def _fitting(rules: Mapping[str, Rule], given: Sequence[str]) -> dict[str, int]:
    """Return the codes that fit, each with how precisely it is named."""
    found: dict[str, int] = {}
    for text in given:
        fits = dict(_fits(rules, text.strip()))
        if not fits:
            raise ValueError(_unknown(rules, text.strip()))
        for code, precision in fits.items():
            found[code] = max(precision, found.get(code, -1))
    return found


def _fits(rules: Mapping[str, Rule], text: str) -> Iterator[tuple[str, int]]:
    """Yield the codes that a text means; a name is as precise as a code, and ``ALL`` the least."""
    upper, name = text.upper(), text.lower().replace("_", "-")
    for code, rule in rules.items():
        if upper == ALL:
            yield code, 0
        elif rule.name == name:
            yield code, len(code)
        elif text and code.startswith(upper):
            yield code, len(text)


def _unknown(rules: Mapping[str, Rule], text: str) -> str:
    """Return what to say about a text that means no rule, with the nearest ones."""
    if CODE.fullmatch(text.upper()):
        same = [code for code in rules if code.startswith(text.upper()[:4])]
        near = get_close_matches(text.upper(), same, _MOST_ALIKE)
    else:
        names = {rule.name: rule for rule in rules.values()}
        near = get_close_matches(text.lower().replace("_", "-"), names, _MOST_ALIKE, _ALIKE)
    said = " or ".join(near)
    hint = f"did you mean {said}?" if near else "'usp rule --all' lists them"
    return f"no rule has the code or name {text!r}; {hint}"
