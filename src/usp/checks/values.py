"""What a check finds: a finding, with its severity and its place."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from usp._base.safe_text import excerpt as cut

__all__ = ["Finding", "Severity"]


class Severity(StrEnum):
    """How bad something is."""

    ERROR = "error"
    """Search engines ignore what is wrong, or more than that: pages are lost."""

    WARNING = "warning"
    """Against the rules, or against the website's own interest; search engines cope."""

    INFO = "info"
    """Worth knowing; often intended."""

    @property
    def rank(self) -> int:
        """0 for errors, more for what is less severe."""
        return _RANKS[self]


_RANKS = {severity: rank for rank, severity in enumerate(Severity)}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a rule found.

    ``code`` and ``name`` are those of the rule, such as ``SM401`` and ``relative-url``. ``sitemap`` is
    the URL of the document (a robots.txt too), ``page`` that of the page, if it is about one. ``line``
    and ``column`` count from 1 and are None where they are not known. ``hint`` says what to do.
    ``times`` is more than 1 where findings of one kind were too many to be kept one by one.
    """

    code: str
    name: str
    severity: Severity
    message: str
    sitemap: str
    page: str | None = None
    line: int | None = None
    column: int | None = None
    hint: str = ""
    times: int = 1

    def __post_init__(self) -> None:
        """Bound the length of the message: it may quote what a website has sent."""
        object.__setattr__(self, "message", cut(self.message))

    def to_dict(self) -> dict[str, object]:
        """Return the finding as a dictionary of plain values."""
        return {
            "code": self.code,
            "name": self.name,
            "severity": self.severity.value,
            "message": self.message,
            "sitemap": self.sitemap,
            "page": self.page,
            "line": self.line,
            "column": self.column,
            "hint": self.hint,
            "times": self.times,
        }


@dataclass(frozen=True, slots=True)
class Hit:
    """What a rule yields; the rest of a finding is known to the check.

    ``at`` is the number of the page in its block. Rules about sitemaps may give a ``line``, and a
    ``page``; rules about the website the URL of the ``sitemap``.
    """

    message: str
    at: int | None = None
    page: str | None = None
    line: int | None = None
    column: int | None = None
    sitemap: str | None = None
    times: int = 1
