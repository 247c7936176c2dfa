"""What tools share: arguments and parts of results, text of websites made harmless, failures in words.

Whatever a website has written is data. It is bounded, on one line, and without control characters or
direction marks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_serializer

from usp._base.display import excerpt, printable
from usp._base.reason import Topic, limit_advice

if TYPE_CHECKING:
    from usp.objects.problem import Failure

MOST_TEXT = 300  # characters of a title, a message or a name
MOST_URL = 3 * 2_048  # characters of a URL: the limit of a crawl, after escaping
_MOST_REASONS = 10


# Arguments -----------------------------------------------------------------------------------------


def listed(value: object) -> object:
    """Return a list of what models write instead: nothing, or one text."""
    return [] if value is None else [value] if isinstance(value, str) else value


# A text that may be left out.
Text = Annotated[str, BeforeValidator(lambda value: "" if value is None else value)]

Texts = Annotated[  # a list of short texts
    list[Annotated[str, Field(max_length=500)]], BeforeValidator(listed), Field(max_length=20)
]

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
NextPart = Annotated[
    Text,
    Field(
        max_length=400,
        description="next_cursor of the last result, for the next part; repeat all other arguments.",
    ),
]


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


class Missing(ToolValue):
    """Why sitemaps are missing or incomplete."""

    code: str = Field(description="Kind of failure; the tool explain tells more about it.")
    reason: str
    todo: str = Field(default="", description="What to do about it.")
    sitemaps: int = Field(description="How many sitemaps failed for this reason.")
    example: SiteAddress = Field(description="URL of one of them.")


class ResultSource(ToolValue):
    """What a result is based on."""

    site: SiteAddress = Field(description="Website or sitemap that was read, after redirects.")
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


def missing_by_reason(failures: Sequence[Failure]) -> list[Missing]:
    """Return failures, those with the same code together, the most frequent first."""
    times = Counter(failure.code for failure in failures)
    first = {failure.code: failure for failure in reversed(failures)}
    return [
        Missing(
            code=code.value,
            reason=reason_of(first[code]),
            todo=remedy_of(first[code]),
            sitemaps=count,
            example=first[code].url,
        )
        for code, count in times.most_common(_MOST_REASONS)
    ]


def utc(moment: datetime) -> str:
    """Return a moment in UTC, to the second."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


# Failures ------------------------------------------------------------------------------------------


_OPERATOR = "the operator of this server can"
_WORDS: Mapping[Topic, str] = {
    Topic.RAISE_LIMIT: f"{_OPERATOR} raise it: usp mcp --max {{0}}=…",
    Topic.ALLOW_NETWORK: f"{_OPERATOR} allow it: usp mcp --allow-network {{0}}",
    Topic.BE_GENTLE: f"{_OPERATOR} set --user-agent, --concurrency 1 or --wait 2",
    Topic.TRY_HTTP: "try {0}",
    Topic.TRUST: f"{_OPERATOR} trust its issuer: usp mcp --ca-bundle FILE",
}
_REMEDIES = {  # where the code's own advice is for programmers
    "unauthorized": "the website needs a login, which this server has not been given",
    "connect-timeout": "try again later",
    "read-timeout": "try again later",
    "body-timeout": "try again later",
    "other-failure": "",
}


def reason_of(failure: Failure) -> str:
    """Return why a sitemap is missing, without advice."""
    return clean(failure.plain)


def remedy_of(failure: Failure) -> str:
    """Return what to do about a failure; what only the operator of the server can do says so."""
    advice = failure.advice or limit_advice(failure.code)
    if advice is not None:
        return clean(_WORDS[advice.topic].format(advice.name))
    remedy = failure.code.remedy
    usual = clean(remedy[:1].lower() + remedy[1:].rstrip("."))
    return _REMEDIES.get(failure.code.value, usual)


def nothing_read(url: str, failures: Sequence[Failure]) -> ToolError:
    """Return what to say if no pages of a website could be read: the most frequent reasons."""
    reasons = {one.reason: one.todo for one in missing_by_reason(failures)}
    lines = [f"{why}. To do: {what}." if what else f"{why}." for why, what in reasons.items()]
    return ToolError(f"Nothing could be read from {clean_url(url)}: {' '.join(lines[:3])}")


def wrong_arguments(errors: Iterable[Mapping[str, Any]], names: Iterable[str]) -> ToolError:
    """Return what to say about arguments that do not fit, by the errors of pydantic."""
    said = []
    for error in errors:
        name = clean(".".join(map(str, error["loc"])), 60)
        if error["type"] == "extra_forbidden":
            said.append(f"there is no argument {name!r}")
        elif error["type"] == "missing":
            said.append(f"{name} is missing")
        else:
            message = str(error["msg"]).removeprefix("Value error, ")
            said.append(f"{name}: {clean(message)}")
    return ToolError(f"Wrong arguments: {'; '.join(said[:5])}. Arguments: {', '.join(names)}.")
