"""The configuration file: ``usp.toml``, or the table ``[tool.usp]`` of ``pyproject.toml``.

A key is the name of an option, without dashes. Keys at the top level apply to every command that has
the option, a table named after a command to that command only. Paths are relative to the file's folder.

A file that is found was not chosen by the user: it may have come with a download, or another user may
have put it there. So it is read only if nobody else can write it, what could run a command, replace a
file or send something elsewhere is left out, and a log is a file NAME.log beside it. The file that
``--config`` names counts as a whole.
"""

from __future__ import annotations

import json
import os
import stat
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from itertools import chain
from pathlib import Path
from typing import Any

import rich_click as click

from usp.cli.cli import OLD_NAMES

NAMES = ("usp.toml", "pyproject.toml")
SENSITIVE = frozenset(
    {
        *("exec", "header", "proxy", "insecure", "ca_bundle", "allow_network"),
        *("compare", "address", "output", "write_baseline", "snapshot", "accept"),
        *("feed", "post", "max_removed", "against", "write", "write_to"),
    }
)
"""Options that run a command, replace a file, or decide who gets requests and what is in them."""

_PATHS = ("FILE", "FOLDER", "DATASET")  # as the help calls their values
_TABLE = "TABLE"
_LOG = "log_file"
_MOST_BYTES = 1 << 20
_MOST_TIMES = 9  # of a flag that counts


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """A configuration file and its options; ``named`` if the user has named it."""

    path: Path
    options: Mapping[str, Any]
    named: bool = False


def read_named(path: Path) -> ConfigFile:
    """Read the file that the user has named."""
    if not path.is_file():
        raise click.UsageError(f"--config: there is no file {str(path)!r}")
    options = _read(path, is_required=True)
    if options is None:
        raise click.UsageError(f"--config: {path} has no table [tool.usp]")
    return ConfigFile(path.absolute(), options, named=True)


def find(folder: Path) -> tuple[ConfigFile | None, list[str]]:
    """Return the nearest configuration file that can be trusted, in a folder or above it.

    Also returns notices of those that cannot be.
    """
    notices = []
    for path in (place / name for place in (folder, *folder.parents) for name in NAMES):
        try:
            if not path.is_file():
                continue
            reason = _distrust(path)
            if reason and _concerns_us(path):
                notices.append(f"{path} is ignored: {reason}; --config {path} reads it")
        except OSError:  # it cannot even be looked at
            continue
        options = None if reason else _read(path)
        if options is not None:
            return ConfigFile(path, options), notices
    return None, notices


def _distrust(path: Path) -> str:
    """Return why others may have written a file; on Windows, that is not known."""
    if not hasattr(os, "geteuid"):
        return ""
    own, facts = os.geteuid(), path.stat()
    # Neither another user's link to our file counts, nor our link to theirs.
    if {facts.st_uid, path.lstat().st_uid} != {own}:
        return "it belongs to another user"
    if facts.st_mode & stat.S_IWOTH or (
        facts.st_mode & stat.S_IWGRP and not _is_private(facts.st_gid, own)
    ):
        return "other users can write it"
    return ""


def _is_private(group: int, user: int) -> bool:
    """Return whether a group is that of one user only, as most systems create one for each."""
    import grp
    import pwd

    try:
        name, found = pwd.getpwuid(user).pw_name, grp.getgrgid(group)
    except KeyError:
        return False
    return found.gr_name == name and set(found.gr_mem) <= {name}


def _concerns_us(path: Path) -> bool:
    """Return whether a file has options of ours, without parsing what others have written."""
    if path.name == NAMES[0]:
        return True
    with path.open("rb") as file:
        return b"tool.usp" in file.read(_MOST_BYTES)


def _read(path: Path, *, is_required: bool = False) -> dict[str, Any] | None:
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        if path.name == "pyproject.toml" and not is_required:
            return None  # other tools read it too, and report what is wrong with it
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else error
        raise click.UsageError(f"cannot read {path}: {reason}") from error
    if path.name != "pyproject.toml":
        return content
    tool = content.get("tool")
    options = tool.get("usp") if isinstance(tool, dict) else None
    return options if isinstance(options, dict) else None


def defaults(
    file: ConfigFile, name: str, commands: Mapping[str, click.Command], folder: Path
) -> tuple[dict[str, Any], list[str]]:
    """Return the defaults of a command as click expects them, and notices of what is left out.

    ``folder`` is the current one, to which paths are written.
    """
    options = _parameters(commands[name])
    values: dict[str, Any] = {}
    notices: list[str] = []
    given = file.options
    tables = {key for key in given if key in commands and isinstance(given[key], dict)}
    shared = ((key, value) for key, value in given.items() if key not in tables)
    own: Mapping[str, Any] = given[name] if name in tables else {}
    for written, given_value in chain(shared, own.items()):
        shown = written.replace("_", "-")
        name_now, _, fixed = OLD_NAMES.get(f"--{shown}", written).partition("=")
        key, value = _plain(name_now), fixed if fixed and given_value else given_value
        option = options.get(key)
        if option is None:
            if written in own:
                raise click.UsageError(f"{file.path}: usp {name} has no option --{shown}")
            if not any(key in _parameters(one) for one in commands.values()):
                raise click.UsageError(f"{file.path}: no command has an option --{shown}")
            continue
        reason = "" if file.named else _refusal(key, value, file.path.parent)
        if reason:
            notices.append(
                f"{file.path}: {shown} is ignored: {reason}; --config {file.path} allows it"
            )
            continue
        try:
            read = _value(option, value)
        except TypeError as error:
            raise click.UsageError(f"{file.path}: {shown} must be {error}") from None
        if option.metavar in _PATHS and isinstance(read, str):
            read = _path(file.path.parent, read, folder)
            if not file.named and file.path.parent != folder and key == _LOG:
                notices.append(f"{file.path} sets {shown} = {read!r}")
        values[option.name or ""] = read
    return values, notices


def _refusal(key: str, value: object, folder: Path) -> str:
    """Return why a setting is not taken from a file that the user has not named."""
    if key in SENSITIVE:
        return "a file that was not named cannot decide what is run, replaced or sent elsewhere"
    if key == _LOG and isinstance(value, str):
        is_beside = value.endswith(".log") and Path(value).name == value
        if not is_beside or (folder / value).is_symlink():
            return f"{value!r} is not a file NAME.log in the folder of the file"
    return ""


def _parameters(command: click.Command) -> dict[str, click.Option]:
    """Return the options of a command by the names that users write, without dashes."""
    return {
        _plain(written): parameter
        for parameter in command.params
        if isinstance(parameter, click.Option)
        for written in parameter.opts
        if written.startswith("--") and written != "--config"
    }


def _value(option: click.Option, value: Any) -> Any:
    """Return a value as on the command line; raises ``TypeError`` with what was expected.

    For a repeatable option, a table is a list of NAME=VALUE; one whose values are tables gets them as
    JSON.
    """
    if option.is_flag and not isinstance(value, bool):
        raise TypeError("true or false")
    if option.count and not isinstance(value, int):
        raise TypeError("a number such as 1")
    if option.is_flag or option.count:
        return value if option.is_flag else min(value, _MOST_TIMES)
    if not option.multiple:
        return _text(value, "a text or a number")
    if option.metavar == _TABLE:
        if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
            raise TypeError(f"a list of tables: [[tool.usp.check.{option.name}]]")
        return [json.dumps(one, default=str) for one in value]
    expected = "a text, or a list or table of texts"
    if isinstance(value, dict):
        return [f"{name}={_text(one, expected)}" for name, one in value.items()]
    return [_text(one, expected) for one in (value if isinstance(value, list) else [value])]


def _text(value: object, expected: str) -> str:
    """Return a value as text; raises ``TypeError`` with what was expected."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, date | datetime | time):
        value = value.isoformat()
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise TypeError(expected)
    try:
        text = str(value)
    except ValueError:  # more digits than Python writes
        raise TypeError(expected) from None
    if "\0" in text:
        raise TypeError(f"{expected} without NUL")
    return text


def _path(of_file: Path, value: str, folder: Path) -> str:
    """Return a path in the configuration file as it is to be written in the current folder."""
    is_as_written = of_file == folder or value in ("", "-") or "://" in value
    return value if is_as_written else str(of_file / value)


def _plain(name: str) -> str:
    return name.lstrip("-").replace("-", "_")
