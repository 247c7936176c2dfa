"""Where a result goes: a file that can be written, or the standard output."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import rich_click as click
from click import get_current_context
from click.core import ParameterSource

from usp.export.atomic import new_file


class Target(click.ParamType):  # type: ignore[type-arg]  # generic in new versions only
    """The value of ``-o``: the path of a file, or None for ``-``, which is the standard output.

    What cannot be written is refused before anything is fetched for it.
    """

    name = "file"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Path | None:
        """Return the path, once a file could be made there."""
        if str(value) == "-":
            return None
        path = Path(value)
        reason = _refusal(path)
        if reason:
            self.fail(reason, param, ctx)
        return path


def _refusal(path: Path) -> str | None:
    """Return why a file cannot be written; None if it can."""
    try:
        if path.is_dir():
            return f"{str(path)!r} is a folder; give the name of a file in it"
        if path.exists() and not path.is_file():
            return None if os.access(path, os.W_OK) else f"cannot write to {str(path)!r}"
        if not path.parent.is_dir():
            return f"there is no folder {str(path.parent)!r}; make it first"
        with new_file(path):
            return None
    except OSError as error:
        # Folders such as /proc take no files, and say that they do not exist.
        is_odd = error.errno == errno.ENOENT
        reason = "no file can be made in that folder" if is_odd else error.strerror or error
        return f"cannot write to {str(path)!r}: {reason}"


def is_from_file(parameter: str) -> bool:
    """Return whether the value of a parameter was read from a file of options."""
    return get_current_context().get_parameter_source(parameter) is ParameterSource.DEFAULT_MAP
