"""Values of options: files, numbers, times, columns, limits, networks, headers, proxies, certificates.

Messages about wrong values say what a right one looks like.
"""

from __future__ import annotations

import dataclasses
import errno
import math
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from usp.limits import DEFAULT, Limits

if TYPE_CHECKING:
    from usp.web_client.zones import Zones

_COUNTS = {"": 1, "k": 1e3, "m": 1e6, "g": 1e9}
_SIZES = _COUNTS | {"kb": 1e3, "mb": 1e6, "gb": 1e9, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30}
_TIMES = {"": 1, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400}
_PROXIES = ("http", "https", "socks4", "socks4a", "socks5", "socks5h")
_NUMBER = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([a-z]*)", re.IGNORECASE)
_LARGEST = 1e15
_FLOATS = frozenset({"ratio", "document_seconds", "lowest_rate", "seconds"})
_IN_BYTES = frozenset({"document_bytes", "unpacked_bytes", "spool_bytes", "lowest_rate"})
LIMIT_NAMES = tuple(field.name for field in dataclasses.fields(Limits))


def bad_value(option: str, reason: object) -> click.BadParameter:
    """Return the error for the value of an option that was given."""
    return click.BadParameter(str(reason), param_hint=option)


@contextmanager
def value_of(option: str) -> Iterator[None]:
    """Raise a ``ValueError`` of the block as the error for the value of an option."""
    try:
        yield
    except ValueError as error:
        raise bad_value(option, error) from error


# Files to write ----------------------------------------------------------------------------------


def output_file(text: str) -> Path | None:
    """Return the path of a file to write, or None for ``-``, which is the standard output."""
    return None if text == "-" else new_path(text)


def new_path(text: str) -> Path:
    """Return the path of what must be a file; one that cannot be written is refused before a crawl."""
    from usp._base.files import NewFile

    if text == "-":
        raise click.BadParameter("it cannot be written to standard output; name a file")
    path = Path(text)
    if not path.parent.is_dir():
        raise click.BadParameter(f"there is no folder {str(path.parent)!r}; create it first")
    try:
        if path.exists() and not (path.is_file() or path.is_dir()) and os.access(path, os.W_OK):
            return path  # a pipe or a device
        with NewFile(path):
            return path
    except OSError as error:
        # Folders such as /proc take no files, and report that they do not exist.
        is_odd = error.errno == errno.ENOENT
        reason = "no file can be created in that folder" if is_odd else error.strerror
        wrong = str(error) if reason is None else f"cannot write to {text!r}: {reason}"
        raise click.BadParameter(wrong) from error


# Choices and numbers ----------------------------------------------------------------------------


class Choice(click.Choice):  # type: ignore[type-arg]
    """One of some words; ``old`` ones go on working, and are not offered."""

    def __init__(self, choices: Sequence[str], old: Sequence[str] = ()) -> None:
        super().__init__([*choices, *old])
        self._offered = ", ".join(choices)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the word, after checking that it is one of them."""
        if value not in self.choices:
            what = (param.opts[-1] if param else "value").strip("-").replace("-", " ")
            self.fail(f"unknown {what} {value!r}; choose from {self._offered}", param, ctx)
        return value


class Integer(click.IntRange):
    """An integer within bounds."""

    name = "integer"  # click's messages call it an integer range


class SampleSize(Integer):
    """How many of some things, or ``all``."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number; that of all is larger than any other."""
        return sys.maxsize if value == "all" else int(super().convert(value, param, ctx))


class Number(click.FloatRange):
    """A number within bounds."""

    name = "number"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the number, after checking that it is one."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):  # passes bounds
            self.fail(f"{value!r} is not a valid {self.name}.", param, ctx)
        return number


def interval(text: str) -> float:
    """Return a number of seconds, as people write it: 90s, 5m, 1h."""
    seconds = _quantity(text.strip(), _TIMES)
    if seconds is None or not 0 < seconds < _LARGEST:
        raise click.BadParameter(f"{text!r} is not a time; use for example 90s, 5m or 1h")
    return seconds


def share(text: str) -> float:
    """Return a share, as people write it: 20%, 0.2."""
    found = _quantity(text.strip().replace("%", "p"), {"": 1, "p": 0.01})
    if found is None or found > 1:
        raise click.BadParameter(f"{text!r} is not a share; use for example 20%")
    return found


def _quantity(text: str, units: Mapping[str, float]) -> float | None:
    """Return a number with a unit; None if it is not one."""
    match = _NUMBER.fullmatch(text)
    unit = units.get(match[2].lower()) if match else None
    return float(match[1]) * unit if match and unit else None


def read_columns(given: str | None, known: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the columns of a table, which are comma-separated."""
    if given is None:
        return None
    from usp.export.schema import chosen

    with value_of("--columns"):
        return chosen((name.strip() for name in given.split(",")), known)


# What requests need ------------------------------------------------------------------------------


def read_limits(given: tuple[str, ...], usual: Limits = DEFAULT) -> Limits:
    """Return the usual limits of a command, changed by ``NAME=VALUE`` pairs."""
    values: dict[str, Any] = {}
    for pair in given:
        name, _, text = pair.partition("=")
        name = name.strip().replace("-", "_")
        if name not in LIMIT_NAMES:
            known = ", ".join(LIMIT_NAMES)
            raise bad_value("--max", f"unknown limit {name!r}; choose from {known}")
        values[name] = _read_number(name, text.strip())
    return dataclasses.replace(usual, **values)


def _read_number(name: str, text: str) -> float | None:
    if text.lower() == "none":
        return None
    units = _TIMES if name.endswith("seconds") else _SIZES if name in _IN_BYTES else _COUNTS
    number = _quantity(text, units)
    is_part = name not in _FLOATS and "." in text and not text[-1:].isalpha()
    if number is None or is_part:
        example = "10MiB" if name.endswith("_bytes") else "1000"
        use = f"use for example {name}={example}, or {name}=none for no limit"
        raise bad_value("--max", f"{text!r} is not a valid value for {name}; {use}")
    if number > _LARGEST:
        raise bad_value("--max", f"{text[:20]} is too large for {name}; use {name}=none")
    return number if name in _FLOATS else int(number)


def read_zones(given: tuple[str, ...], *, trust_start: bool = True) -> Zones:
    """Return the networks that may be connected to."""
    from usp.web_client.zones import Zones

    with value_of("--allow-network"):
        return Zones(allow=given, trust_start=trust_start)


def read_header(given: str) -> tuple[str, str]:
    """Return the name and the value of a header."""
    name, colon, value = given.partition(":")
    if not colon or not name.strip() or not given.isprintable():
        use = "use for example 'Accept-Language: de'"
        raise bad_value("--header", f"{given!r} is not a header; {use}")
    return name.strip(), value.strip()


def read_proxy(given: str | None) -> str | None:
    """Return the URL of a proxy; a message does not repeat it, since it may hold a password."""
    scheme, colon, _ = (given or "").partition("://")
    if colon and scheme.lower() not in _PROXIES:
        use = "use for example http://localhost:3128"
        raise bad_value("--proxy", f"{scheme!r} is not the scheme of a proxy; {use}")
    return given


def read_verify(ca_bundle: Path | None, *, insecure: bool) -> bool | str:
    """Return whether certificates are verified, or the path of the authorities to trust."""
    from usp._http.identity import trusting

    if insecure:
        if ca_bundle is not None:
            raise click.UsageError("--insecure and --ca-bundle cannot be used together")
        return False
    if ca_bundle is None:
        return True
    if not (ca_bundle.is_file() or ca_bundle.is_dir()):  # it is read more than once
        raise bad_value("--ca-bundle", f"{str(ca_bundle)!r} is neither a file nor a folder")
    try:
        trusting(str(ca_bundle))
    except OSError as error:
        reason = f"no certificates found in {str(ca_bundle)!r}; it must be PEM"
        raise bad_value("--ca-bundle", reason) from error
    return str(ca_bundle)
