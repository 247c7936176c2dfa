"""Who asks for a rule, and profiles: what one search engine wants, and how severe that is for it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from usp.checks.finding import Severity

ENGINES: Mapping[str, tuple[str, ...]] = {
    "Google": ("https://developers.google.com/", "https://support.google.com/"),
    "Bing": ("https://www.bing.com/", "https://blogs.bing.com/"),
}
_STANDARDS = {
    "sitemaps.org": ("https://www.sitemaps.org/",),
    "RFC": ("https://www.rfc-editor.org/",),
    "W3C": ("https://www.w3.org/",),
}


def asked_by(sources: Sequence[str]) -> tuple[str, ...]:
    """Return whose documentation the sources of a rule are."""
    owners = {**_STANDARDS, **ENGINES}
    return tuple(
        name for name, begin in owners.items() if any(s.startswith(begin) for s in sources)
    )


@dataclass(frozen=True, slots=True)
class Profile:
    """What is checked for one purpose.

    ``engine`` is whose rules count beside those of standards, empty for all. Rules whose codes begin as
    in ``harsher`` are a degree more severe; ``ignored`` are those about what the engine does not read.
    """

    engine: str = ""
    harsher: tuple[str, ...] = ()
    ignored: Collection[str] = ()

    def severity(self, code: str, sources: Sequence[str], usual: Severity) -> Severity | None:
        """Return how severe a rule is; None if it is left out."""
        others = ENGINES.keys() - {self.engine}
        is_for_others = bool(self.engine) and set(asked_by(sources)) <= others
        if code in self.ignored or is_for_others:
            return None
        return _HARSHER[usual] if code.startswith(self.harsher) else usual


_HARSHER = {
    Severity.INFO: Severity.WARNING,
    Severity.WARNING: Severity.ERROR,
    Severity.ERROR: Severity.ERROR,
}

_UNREAD = frozenset({"SM506", "SM511", "SM551", "SM552"})  # Google reads no changefreq, no priority

PROFILES: Mapping[str, Profile] = {
    "google": Profile("Google", ignored=_UNREAD),
    "bing": Profile("Bing"),
    "news": Profile("Google", harsher=("SM7",), ignored=_UNREAD),
    "video": Profile("Google", harsher=("SM82", "SM83", "SM85"), ignored=_UNREAD),
    "strict": Profile(harsher=("SM",)),
}
"""The profiles by their names."""


def profile_named(name: str | None) -> Profile:
    """Return a profile, without a name one with everything as it is; raises ``ValueError``."""
    if name is None:
        return Profile()
    if name not in PROFILES:
        raise ValueError(f"unknown profile {name!r}; choose from {', '.join(PROFILES)}")
    return PROFILES[name]
