"""Arguments and results that several tools share, with the words in which models read about them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from usp._base.display import counted
from usp.mcp.cursors import MOST_CHARACTERS
from usp.mcp.words import clean_url, reason_of, remedy_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from usp.mcp.trees import Visit
    from usp.objects.problem import Failure

MOST_BYTES = 40_000
"""Bytes of the items of one result, as JSON; the rest is in the next part."""


def _as_list(value: Any) -> Any:
    """Return a list of what models write instead: nothing, one text, or a list as JSON."""
    if value is None:
        return []
    if not isinstance(value, str):
        return value
    if value.startswith("["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return [value]
    return [value]


Texts = Annotated[
    list[Annotated[str, Field(max_length=500)]], BeforeValidator(_as_list), Field(max_length=20)
]
"""A list of short texts."""


class Arguments(BaseModel):
    """Arguments of a tool; unknown ones are refused, or a misspelled filter would do nothing."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class SiteArguments(Arguments):
    """Arguments of a tool about a website."""

    url: str = Field(
        min_length=1,
        max_length=2048,
        description="Website (example.org, https://example.org/) or one sitemap, feed or robots.txt "
        "by its URL. A page stands for its website.",
    )
    refresh: bool = Field(
        default=False,
        description="Fetch again even if an earlier call has fetched it a few minutes ago.",
    )


class ListArguments(SiteArguments):
    """Arguments of a tool that returns a list in parts."""

    cursor: str | None = Field(
        default=None,
        max_length=MOST_CHARACTERS,
        description="next_cursor of the last result, for the next part; repeat all other arguments.",
    )


class Value(BaseModel):
    """A part of a result."""

    model_config = ConfigDict(frozen=True)


class Missing(Value):
    """Why sitemaps are missing or incomplete."""

    code: str = Field(description="Kind of failure; the tool explain tells more about it.")
    reason: str
    todo: str = Field(default="", description="What to do about it.")
    sitemaps: int = Field(description="How many sitemaps failed for this reason.")
    example: str = Field(description="URL of one of them.")


class Source(Value):
    """What a result is based on."""

    site: str = Field(description="Website or sitemap that was read, after redirects.")
    fetched: str = Field(description="When it was fetched, in UTC.")
    from_cache: bool = Field(description="Whether an earlier call had fetched it.")
    complete: bool = Field(
        description="Whether every sitemap that is declared was read to its end. If not, pages may be "
        "missing: see missing."
    )
    missing: list[Missing] = Field(
        default_factory=list, description="Sitemaps that are missing or incomplete, by reason."
    )
    skipped: int = Field(
        default=0,
        description="Sitemaps that were not downloaded, because of their date or URL they cannot have "
        "what was asked for.",
    )

    @classmethod
    def of(cls, visit: Visit, *, kept: bool) -> Source:
        """Return what a result that was made from a tree is based on."""
        return cls(
            site=clean_url(visit.tree.url),
            fetched=_written(visit.fetched),
            from_cache=kept,
            complete=not visit.failures,
            missing=missing(visit.failures),
            skipped=visit.skipped,
        )

    def lines(self, *, everything: bool = False) -> Iterable[str]:
        """Yield what a reader of the text must know: that something is missing, or all about it."""
        when = f"fetched {self.fetched}{' (from cache)' if self.from_cache else ''}"
        state = "complete" if self.complete else "INCOMPLETE"
        skipped = f", {counted(self.skipped, 'sitemap')} not needed" if self.skipped else ""
        yield f"{self.site}: {when}, {state}{skipped}."
        if self.missing and not everything:
            number = counted(sum(one.sitemaps for one in self.missing), "sitemap")
            codes = ", ".join(one.code for one in self.missing)
            yield f"Missing: {number} ({codes}); list_sitemaps with only_failed tells more."
            return
        for one in self.missing:
            todo = f" To do: {one.todo}." if one.todo else ""
            number = counted(one.sitemaps, "sitemap")
            yield f"Missing: {number}, {one.code}: {one.reason}, for example {one.example}.{todo}"


_MOST_REASONS = 10


def missing(failures: Sequence[Failure]) -> list[Missing]:
    """Return failures, those with the same code together."""
    groups: dict[str, list[Failure]] = {}
    for failure in failures:
        groups.setdefault(failure.code.value, []).append(failure)
    ranked = sorted(groups.items(), key=lambda item: -len(item[1]))
    return [
        Missing(
            code=code,
            reason=reason_of(group[0]),
            todo=remedy_of(group[0]),
            sitemaps=len(group),
            example=clean_url(group[0].url),
        )
        for code, group in ranked[:_MOST_REASONS]
    ]


def _written(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Result(Value):
    """The result of a tool; ``lines`` are the same in words, for clients that show text only."""

    def lines(self) -> Iterable[str]:
        """Yield the result as text."""
        raise NotImplementedError


V = TypeVar("V", bound=Value)


def fitting(items: Sequence[V], most: int = MOST_BYTES) -> list[V]:
    """Return as many of the first items as a result has room for; one at least."""
    taken: list[V] = []
    for item in items:
        most -= len(item.model_dump_json(exclude_none=True).encode())
        if most < 0 and taken:
            break
        taken.append(item)
    return taken
