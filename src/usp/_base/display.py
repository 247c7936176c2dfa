"""Numbers as people read them: sizes, counts, durations. Every command and page writes them this way.

Sizes are in binary units (1 KiB = 1024 bytes), as the limits of a crawl and the protocol's own 50 MiB.
"""

from __future__ import annotations

__all__ = ["clock", "counted", "duration", "grouped", "size"]

_KIB = 1024
_UNITS = ("KiB", "MiB", "GiB", "TiB")
_MINUTE = 60
_HOUR = 60 * _MINUTE


def grouped(number: int) -> str:
    """Return a number with commas between its thousands."""
    return f"{number:,}"


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun: ``1 page``, ``2 entries``, ``1,200 sitemaps``."""
    return f"{number:,} {noun if number == 1 else plural or _plural(noun)}"


def _plural(noun: str) -> str:
    if noun.endswith("y") and noun[-2:-1] not in set("aeiou"):
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("s", "x", "ch", "sh")) else f"{noun}s"


def size(number: int) -> str:
    """Return a number of bytes in the unit that suits it: ``812 B``, ``1.5 KiB``, ``120 MiB``."""
    if number < _KIB:
        return f"{number} B"
    value = float(number)
    unit = ""
    for unit in _UNITS:  # noqa: B007 - the unit that the loop ends with
        value /= _KIB
        if round(value) < _KIB:
            break
    # Three digits are enough: 1.5, 99.9, 100, 1,023.
    return f"{value:.1f} {unit}" if round(value, 1) < 100 else f"{value:,.0f} {unit}"  # noqa: PLR2004


def duration(seconds: float) -> str:
    """Return a time span in the units that suit it: ``12 ms``, ``5.0 s``, ``2 min 5 s``, ``3 h``."""
    if seconds < 0.9995:  # noqa: PLR2004 - what rounds to a second is one
        return f"{seconds * 1000:.0f} ms"
    if round(seconds, 1) < _MINUTE:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < _HOUR:
        return _two(whole // _MINUTE, "min", whole % _MINUTE, "s")
    minutes = round(seconds / _MINUTE)
    return _two(minutes // _MINUTE, "h", minutes % _MINUTE, "min")


def _two(much: int, unit: str, rest: int, smaller: str) -> str:
    return f"{much:,} {unit} {rest} {smaller}" if rest else f"{much:,} {unit}"


def clock(seconds: float) -> str:
    """Return a time span as a clock shows it, for a line that changes: ``0:07``, ``1:02:03``."""
    minutes, rest = divmod(int(seconds), _MINUTE)
    hours, minutes = divmod(minutes, _MINUTE)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
