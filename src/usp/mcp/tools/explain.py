"""``explain``: what a rule of a check, a problem or a failure means, and what to do about it."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from pydantic import Field

from usp.checks.rules import RULES
from usp.checks.selecting import rules_named
from usp.mcp.schemas import Arguments, Result, Value, fitting
from usp.mcp.words import Refusal, clean
from usp.objects.problem import FailureCode, ProblemCode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from usp.checks.registry import Rule
    from usp.mcp.call import Call
    from usp.objects.failure_codes import Code

_CODES: dict[str, tuple[str, Code]] = {
    **{code.value: ("problem", code) for code in ProblemCode},
    **{code.value: ("failure", code) for code in FailureCode},
}


class ExplainArguments(Arguments):
    """What to explain."""

    code: str = Field(
        min_length=1,
        max_length=100,
        description="Code or name of a rule (SM401, relative-url), the beginning of codes (SM4), or "
        "the code of a failure or a problem (not-found, bare-ampersand).",
    )


class Explanation(Value):
    """What a code means."""

    code: str
    name: str | None = None
    kind: str = Field(description="rule, failure or problem")
    severity: str | None = Field(default=None, description="Of a rule: error, warning or info.")
    summary: str
    why: str = ""
    bad: str = Field(default="", description="An example that is wrong.")
    good: str = Field(default="", description="The same, right.")
    fix: str = Field(description="What to do.")
    sources: list[str] = Field(default_factory=list)


class Explanations(Result):
    """What a code means; the beginning of codes has several explanations."""

    explanations: list[Explanation]
    more: list[str] = Field(
        default_factory=list, description="Further codes that fit; ask for them one by one."
    )

    def lines(self) -> Iterable[str]:
        """Yield the result as text."""
        for one in self.explanations:
            name = f" {one.name}" if one.name else ""
            yield f"{one.code}{name} ({one.severity or one.kind}): {one.summary}"
            yield from (text for text in (one.why,) if text)
            yield from (
                f"{word}: {text}" for word, text in (("Bad", one.bad), ("Good", one.good)) if text
            )
            yield f"Fix: {one.fix}"
            yield from (f"Source: {source}" for source in one.sources)
        if self.more:
            yield f"Also: {', '.join(self.more)}"


async def explain(call: Call, given: ExplainArguments) -> Explanations:
    """Return what a code means."""
    del call
    text = given.code.strip().lower().replace("_", "-")
    if text in _CODES:
        kind, code = _CODES[text]
        return Explanations(explanations=[_of_code(kind, code)])
    try:
        rules = rules_named(RULES, given.code)
    except ValueError as error:
        known = "list_sitemaps and check_site return codes that can be explained."
        wrong = f"There is no rule, failure or problem {clean(given.code)!r}"
        raise Refusal(f"{wrong}; {_near(text) or known}") from error
    found = fitting([_of_rule(rule) for rule in rules])
    return Explanations(explanations=found, more=[rule.code for rule in rules[len(found) :]])


def _near(text: str) -> str:
    names = dict.fromkeys([*_CODES, *(rule.name for rule in RULES.values())])
    near = get_close_matches(text, names, 3)
    return f"did you mean {' or '.join(near)}?" if near else ""


def _of_code(kind: str, code: Code) -> Explanation:
    return Explanation(
        code=code.value,
        kind=kind,
        summary=code.message,
        why=code.meaning,
        bad=code.example,
        fix=code.remedy,
    )


def _of_rule(rule: Rule) -> Explanation:
    return Explanation(
        code=rule.code,
        name=rule.name,
        kind="rule",
        severity=rule.severity.value,
        summary=rule.summary,
        why=rule.why,
        bad=rule.bad,
        good=rule.good,
        fix=rule.hint,
        sources=list(rule.sources),
    )
