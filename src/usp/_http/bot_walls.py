"""Tells whether an answer turns robots away: what guards of websites say of themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_FORBIDDEN = 403
_GUARDED = frozenset({_FORBIDDEN, 406, 429, 503})
_ERRORS = range(400, 600)

_GUARDS = {  # header: the value that tells, or None if any does
    "x-datadome": None,
    "x-iinfo": None,  # Imperva
    "x-amzn-waf-action": None,
    "x-sucuri-block": None,
    "x-kpsdk-ct": None,  # Kasada
    "server": "datadome",
}
_GUARD_PREFIX = "x-px-"  # PerimeterX


def turns_robots_away(status: int, headers: Mapping[str, str]) -> bool:
    """Tell whether an error is meant for robots rather than for the address that was asked for."""
    if status == _FORBIDDEN:
        return True
    if status not in _ERRORS:
        return False
    told = {name.lower(): value.lower() for name, value in headers.items()}
    if "challenge" in told.get("cf-mitigated", ""):
        return True
    if status not in _GUARDED:
        return False
    return any(
        name.startswith(_GUARD_PREFIX) or (name in _GUARDS and (_GUARDS[name] or "") in value)
        for name, value in told.items()
    )
