"""Options of how requests are made, for every command that makes some."""

from __future__ import annotations

import math
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import rich_click as click
from urllib3.exceptions import InsecureRequestWarning

from usp._http.identity import trusting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    F = TypeVar("F", bound=Callable[..., Any])


def _number(_: click.Context, __: click.Parameter, value: float) -> float:
    if math.isnan(value):
        raise click.BadParameter("nan is not a number of seconds", param_hint="--wait")
    return value


OPTIONS = [
    click.option(
        "--wait",
        envvar="USP_WAIT",
        type=click.FloatRange(min=0, max=86_400),
        default=0.0,
        callback=_number,
        metavar="SECONDS",
        help="Pause between two requests to one host; they are sent one at a time then.",
    ),
    click.option(
        "--ca-bundle",
        envvar="USP_CA_BUNDLE",
        type=click.Path(exists=True, path_type=Path),
        metavar="FILE",
        help="Trust the certificate authorities in this file (PEM), or in this folder.",
    ),
    click.option(
        "--insecure",
        envvar="USP_INSECURE",
        is_flag=True,
        help="Do not check the certificates of servers.",
    ),
]


def options(command: F) -> F:
    """Return a command that has these options."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def read_verify(ca_bundle: Path | None, *, insecure: bool) -> bool | str:
    """Return whether certificates are checked, or the authorities that are trusted."""
    if insecure:
        if ca_bundle is not None:
            raise click.UsageError(
                "--insecure checks nothing; leave out --ca-bundle, or --insecure"
            )
        return False
    if ca_bundle is None:
        return True
    try:
        trusting(str(ca_bundle))
    except OSError as error:
        raise click.BadParameter(
            f"{str(ca_bundle)!r} has no certificates that can be read: it must be PEM",
            param_hint="--ca-bundle",
        ) from error
    return str(ca_bundle)


@contextmanager
def no_warnings() -> Iterator[None]:
    """Keep quiet about certificates that nobody wants to check."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InsecureRequestWarning)
        yield
