"""What a model reads: text of websites made harmless, failures with what to do, refusals.

Whatever a website has written is data. It is bounded, on one line, and without control characters or
direction marks, so it can neither end the line it stands in nor hide what follows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from usp._base.reason import Topic, limit_advice
from usp._base.safe_text import excerpt, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from usp._base.reason import Advice
    from usp.objects.problem import Failure

MOST_TEXT = 300
"""Characters of a title, a message or a name."""

MOST_URL = 3 * 2_048
"""Characters of a URL: the limit of a crawl, after non-ASCII characters were escaped."""


class Refusal(Exception):  # noqa: N818 - says what it is
    """Why a call has no result; the text says what to do next, and is all that the caller gets."""


def clean(text: str, most: int = MOST_TEXT) -> str:
    """Return text of a website: on one line, bounded, control characters percent-encoded."""
    return excerpt(printable(" ".join(text[: 4 * most].split())), most)


def clean_url(url: str) -> str:
    """Return a URL of a website, control characters percent-encoded."""
    return excerpt(printable(url), MOST_URL)


def quoted(text: str) -> str:
    """Return text of a website in quotes, of which it has none itself."""
    return '"{}"'.format(text.replace('"', "'"))


def bounded(names: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    """Return names of a website with their counts."""
    return [(clean(name, 100), count) for name, count in names]


# Failures ------------------------------------------------------------------------------------------


_WORDS: Mapping[Topic, str] = {
    Topic.RAISE_LIMIT: "the operator of this server can raise it: usp mcp --max {0}=…",
    Topic.ALLOW_NETWORK: "the operator of this server can allow it: usp mcp --allow-network {0}",
    Topic.BE_GENTLE: "the operator of this server can set --user-agent, --concurrency 1 or --wait 2",
    Topic.TRY_HTTP: "try {0}",
    Topic.TRUST: "the operator of this server can trust its issuer: usp mcp --ca-bundle FILE",
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
    advice: Advice | None = failure.advice or limit_advice(failure.code)
    if advice is not None:
        return clean(_WORDS[advice.topic].format(advice.name))
    code = failure.code.value
    if code in _REMEDIES:
        return _REMEDIES[code]
    return clean(failure.code.remedy[:1].lower() + failure.code.remedy[1:].rstrip("."))


def nothing_read(url: str, failures: Sequence[Failure]) -> Refusal:
    """Return what to say if no pages of a website could be read: the first reasons of each kind."""
    firsts = {failure.code: failure for failure in reversed(failures)}
    told = {reason_of(failure): remedy_of(failure) for failure in firsts.values()}
    lines = [f"{why}. To do: {what}." if what else f"{why}." for why, what in [*told.items()][-3:]]
    return Refusal(f"Nothing could be read from {clean_url(url)}: {' '.join(reversed(lines))}")


def wrong_arguments(errors: Iterable[Mapping[str, Any]], names: Iterable[str]) -> Refusal:
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
    return Refusal(f"Wrong arguments: {'; '.join(said[:5])}. Arguments: {', '.join(names)}.")
