"""What was said when a document was fetched, beside the document itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from usp._base.reason import Reason

__all__ = ["Exchange"]


@dataclass(frozen=True, slots=True)
class Exchange:
    """The request for a document, the last one if there were several, and its answer.

    ``url`` was asked for and ``final_url`` answered, after the ``redirects``. ``status`` is None if
    nobody answered, and for a file. ``headers`` are those of the answer, without cookies and logins.
    ``attempts`` is how often the document was asked for, 0 for one that was at hand; ``started`` is
    when that was, and ``seconds`` how long it took until the last byte. ``received`` counts the bytes
    of the body as they came, still compressed; ``broken`` says why the body is incomplete, if it is.
    ``charset`` is the encoding that the document turned out to have.
    """

    url: str
    final_url: str
    status: int | None = 200
    headers: tuple[tuple[str, str], ...] = ()
    redirects: tuple[str, ...] = ()
    attempts: int = 1
    seconds: float = 0.0
    received: int = 0
    content_type: str | None = None
    content_encoding: str | None = None
    charset: str | None = None
    broken: Reason | None = None
    started: datetime | None = None

    def header(self, name: str) -> str | None:
        """Return the value of a header of the answer, whatever its case, or None."""
        wanted = name.lower()
        return next((value for key, value in self.headers if key.lower() == wanted), None)
