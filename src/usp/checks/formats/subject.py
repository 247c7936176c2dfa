"""What every format is given."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from usp.checks.folding import Counts
from usp.checks.places import Places
from usp.checks.values import Severity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from usp.checks.registry import Rule
    from usp.checks.values import Finding


def _as_it_is(text: str, style: str) -> str:
    del style
    return text


@dataclass(slots=True)
class Subject:
    """Findings, which are read once, and how they are shown.

    ``sitemaps`` are the URLs of everything that is checked, ``rules`` those that are asked. Findings
    below the severity ``fail_on`` are not failures; None: none is one. ``everything`` shows
    findings one by one that are otherwise folded. ``paint`` returns text in a style (a severity,
    ``title``, ``dim``), for terminals with colors; ``width`` is where lines are wrapped.
    """

    findings: Iterable[Finding]
    sitemaps: Sequence[str] = ()
    rules: Sequence[Rule] = ()
    fail_on: Severity | None = Severity.WARNING
    everything: bool = False
    paint: Callable[[str, str], str] = _as_it_is
    width: int | None = None
    places: Places = field(default_factory=lambda: Places(Path.cwd()))
    counts: Counts = field(default_factory=Counts)

    def counted(self) -> Iterator[Finding]:
        """Yield the findings, and count them."""
        return self.counts.counted(self.findings)

    def fails(self, finding: Finding) -> bool:
        """Return whether a finding is a failure."""
        return self.fail_on is not None and finding.severity.rank <= self.fail_on.rank
