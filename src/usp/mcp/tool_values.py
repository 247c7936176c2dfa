"""What tools share: their arguments, the parts of their results, and text of websites made harmless.

Whatever a website has written is data. It is bounded, on one line, and without control characters or
direction marks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_serializer

from usp._base.display import excerpt, printable

if TYPE_CHECKING:
    from usp.checks.verdicts import RuleRow

    V = TypeVar("V", bound="ToolValue")

MOST_TEXT = 300  # characters of a title, a message or a name
MOST_URL = 3 * 2_048  # characters of a URL: the limit of a crawl, after escaping
MOST_BYTES = 40_000  # bytes of the items of one result, as JSON; the rest is in the next part


# Arguments -----------------------------------------------------------------------------------------


def listed(value: object) -> object:
    """Return a list of what models write instead: nothing, or one text."""
    return [] if value is None else [value] if isinstance(value, str) else value


# A text that may be left out.
Text = Annotated[str, BeforeValidator(lambda value: "" if value is None else value)]

Texts = Annotated[  # a list of short texts
    list[Annotated[str, Field(max_length=500)]], BeforeValidator(listed), Field(max_length=20)
]

SeverityWord = Literal["error", "warning", "info"]

SiteUrl = Annotated[
    str,
    Field(
        min_length=1,
        max_length=2048,
        description="Website (example.org, https://example.org/) or one sitemap, feed or robots.txt "
        "by its URL. A page stands for its website.",
    ),
]
Refresh = Annotated[
    bool,
    Field(description="Fetch again even if an earlier call has fetched it a few minutes ago."),
]
Cursor = Annotated[
    Text,
    Field(
        max_length=400,
        description="next_cursor of the last result, for the next part; repeat all other arguments.",
    ),
]
Limit = Annotated[int, Field(ge=1, le=200, description="Most items of the list in one result.")]


@contextmanager
def refusing_wrong_arguments() -> Iterator[None]:
    """Turn a ``ValueError`` about what the caller wrote into an error of the tool."""
    try:
        yield
    except ValueError as error:
        raise ToolError(f"Wrong arguments: {clean(str(error))}") from error


# Results -------------------------------------------------------------------------------------------


def clean(text: str, most: int = MOST_TEXT) -> str:
    """Return text of a website: on one line, bounded, control characters percent-encoded."""
    return excerpt(printable(" ".join(text[: 4 * most].split())), most)


def clean_url(url: str) -> str:
    """Return a URL of a website, control characters percent-encoded."""
    return excerpt(printable(url), MOST_URL)


SiteText = Annotated[str, AfterValidator(clean)]  # text that a website has written
SiteAddress = Annotated[str, AfterValidator(clean_url)]  # a URL that a website has written


class ToolValue(BaseModel):
    """A result, or a part of one; what is None is left out.

    It may be made from an object that has the same attributes.
    """

    model_config = ConfigDict(frozen=True, from_attributes=True)

    @model_serializer(mode="wrap")
    def _given(self, serialize: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        return {name: value for name, value in serialize(self).items() if value is not None}


def optional(description: str) -> Any:
    """Return a field that may be left out."""
    return Field(default=None, description=description)


class Example(ToolValue):
    """One thing that a rule found."""

    message: SiteText
    sitemap: SiteAddress
    page: SiteAddress | None = None
    line: int | None = optional("Line of the sitemap.")


class RuleFindings(ToolValue):
    """What a rule found."""

    code: str = Field(description="Code of the rule; the tool explain documents it.")
    name: str
    severity: SeverityWord
    times: int = Field(description="Number of findings.")
    sitemaps: int = Field(description="Number of sitemaps that have any.")
    hint: str = Field(description="What to do.")
    examples: list[Example]

    @classmethod
    def of(cls, row: RuleRow) -> RuleFindings:
        """Return what a rule found, as the report counts it."""
        return cls.model_validate(asdict(row) | {"times": row.count, "sitemaps": row.sitemaps})


class ResultSource(ToolValue):
    """What a result is based on."""

    site: SiteAddress = Field(description="Website or sitemap that was read, after redirects.")
    fetched: str = Field(description="When it was fetched, in UTC.")
    from_cache: bool = Field(description="Whether an earlier call had fetched it.")
    complete: bool = Field(
        description="Whether every sitemap that is declared was read to its end. If not, pages may be "
        "missing: see findings."
    )
    findings: list[RuleFindings] = Field(
        default_factory=list,
        description="Errors and warnings by rule, the most severe first; of a large website only "
        "what is known without reading pages: why sitemaps are missing or incomplete. In the first "
        "part of a list.",
    )
    skipped: int = Field(
        default=0,
        description="Sitemaps that were not downloaded, because of their date or URL they cannot have "
        "what was asked for.",
    )


class SiteResult(ToolValue):
    """A result about a website."""

    source: ResultSource


class ListResult(SiteResult):
    """A part of a list."""

    total: int = Field(description="Number of items of the list in all its parts.")
    next_cursor: str | None = optional("Pass it as cursor for the next part; none at the end.")


def fitting(items: Sequence[V]) -> list[V]:
    """Return as many of the first items as a result has room for; one at least."""
    room = MOST_BYTES
    taken: list[V] = []
    for item in items:
        room -= len(item.model_dump_json().encode())
        if room < 0 and taken:
            break
        taken.append(item)
    return taken


def utc(moment: datetime) -> str:
    """Return a moment in UTC, to the second."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
