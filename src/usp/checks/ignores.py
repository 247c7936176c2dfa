"""Findings that are left out on purpose: by rule, sitemap and page, for a reason, and for some time."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

from usp._base.display import counted
from usp._base.filters import compiled, is_regular
from usp.checks.registry import ALL, RuleSelection, rules_named
from usp.checks.rules import RULES

if TYPE_CHECKING:
    import re

    from usp.checks.finding import Finding

_EXAMPLE = '{ rules = "SM407", url = "*/old/*", reason = "…", until = 2030-01-31 }'


@dataclass(frozen=True, slots=True)
class Ignore:
    """What to leave out: findings of ``rules`` in a ``sitemap`` about a ``url``, up to a last day.

    Both are patterns, such as ``*/blog/*``; one without a slash or an asterisk is the name of a file.
    What is empty fits everything. A finding that is not about a page has no ``url``.
    """

    rules: tuple[str, ...] = ()
    sitemap: str = ""
    url: str = ""
    reason: str = ""
    until: date | None = None

    @classmethod
    def of(cls, given: Ignore | Mapping[str, Any] | str) -> Ignore:
        """Read a table of a configuration file, or JSON; raises ``ValueError`` if it is wrong."""
        if isinstance(given, Ignore):
            return given
        values = _values(given)
        names = [field.name for field in fields(cls)]
        if odd := [name for name in values if name not in names]:
            raise ValueError(f"an ignore has no {odd[0]!r}, only {', '.join(names)}")
        rules = values.pop("rules", ())
        rules = rules.split(",") if isinstance(rules, str) else rules
        until = values.pop("until", None)
        if isinstance(until, str):
            try:
                until = date.fromisoformat(until)
            except ValueError:
                raise ValueError(f"until {until!r} is not a day such as 2030-01-31") from None
        texts = [*rules, *values.values()] if isinstance(rules, list | tuple) else [None]
        if not all(isinstance(text, str) for text in texts) or not isinstance(until, date | None):
            raise ValueError(f"an ignore is a table of texts and a date, such as {_EXAMPLE}")
        made = cls(tuple(text.strip() for text in rules), until=until, **values)
        if not (made.rules or made.sitemap or made.url):
            raise ValueError(f"an ignore has neither rules nor a sitemap nor a url: {_EXAMPLE}")
        for name in made.rules:
            rules_named(RULES, name)
        for name in ("sitemap", "url"):
            _pattern(name, getattr(made, name))
        return made

    def __str__(self) -> str:
        """Return it as messages name it: ``SM407 in */news.xml (its archive): the reason``."""
        where = f" in {self.sitemap}" if self.sitemap else ""
        about = f" about {self.url}" if self.url else ""
        reason = f" ({self.reason})" if self.reason else ""
        return f"{','.join(self.rules) or ALL}{where}{about}{reason}"


def _values(given: object) -> dict[str, Any]:
    """Return what a table has."""
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except ValueError:
            example = '{"rules": "SM407", "url": "*/old/*"}'
            raise ValueError(f"an ignore is not JSON, such as {example}") from None
    if not isinstance(given, Mapping):
        raise ValueError(f"an ignore is a table, such as {_EXAMPLE}")  # noqa: TRY004 - as others
    return dict(given)


def _pattern(name: str, text: str) -> re.Pattern[str]:
    is_name = bool(text) and not is_regular(text) and not {"/", "*"}.intersection(text)
    return compiled(name, f"*/{text}" if is_name else text or "re:")


class Ignores:
    """Leaves findings out, and knows afterwards which of the ignores were of no use."""

    def __init__(self, given: Iterable[Ignore | Mapping[str, Any] | str]) -> None:
        ignores, today = [Ignore.of(one) for one in given], datetime.now(UTC).date()
        self._over = [one for one in ignores if one.until is not None and one.until < today]
        self._used = Counter[Ignore]()
        self._fitting = [
            (
                ignore,
                {rule.code for name in ignore.rules or [ALL] for rule in rules_named(RULES, name)},
                _pattern("sitemap", ignore.sitemap),
                _pattern("url", ignore.url),
            )
            for ignore in ignores
            if ignore not in self._over
        ]

    def others(self, findings: Iterable[Finding]) -> Iterator[Finding]:
        """Yield the findings that nothing ignores."""
        for one in findings:
            for ignore, codes, sitemap, url in self._fitting:
                page = one.page or ""
                if one.code in codes and sitemap.search(one.sitemap) and url.search(page):
                    self._used[ignore] += one.times
                    break
            else:
                yield one

    def notices(self, chosen: RuleSelection) -> Iterator[str]:
        """Yield what is to be said of them after the check: which are over, and which fit nothing."""
        for one in self._over:
            yield f"the ignore of {one} ended on {one.until}; its findings are shown again"
        for one, codes, _, _ in self._fitting:
            if one not in self._used and any(code in chosen for code in codes):
                yield f"the ignore of {one} fits no finding; remove it"
        if left_out := self._used.total():
            yield f"{counted(left_out, 'finding')} left out by ignores of the configuration"
