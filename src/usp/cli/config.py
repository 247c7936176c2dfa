"""The configuration file: ``usp.toml``, or the table ``[tool.usp]`` of ``pyproject.toml``.

A key is the name of an option, without dashes. Keys at the top level apply to every command that has
the option, a table named after a command to that command only. Paths are relative to the file's folder.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

if TYPE_CHECKING:
    from collections.abc import Mapping

_TOLD = frozenset({"log-file", "proxy", "output", "insecure", "ca-bundle", "write-baseline"})
"""Options that send data elsewhere, or let somebody else read it."""


def find(folder: Path) -> tuple[Path, dict[str, Any]] | None:
    """Return the nearest configuration file, in a folder or above it, and its content.

    A file in a parent folder is read only if the user owns it: anybody can put one into ``/tmp``.
    """
    for place in (folder, *folder.parents):
        for name in ("usp.toml", "pyproject.toml"):
            path = place / name
            if path.is_file() and (place == folder or _is_ours(path)):
                options = _read(path)
                if options is not None:
                    return path, options
    return None


def _is_ours(path: Path) -> bool:
    if not hasattr(os, "geteuid"):
        return True
    # Neither another user's link to our file counts, nor our link to theirs.
    return {path.stat().st_uid, path.lstat().st_uid} == {os.geteuid()}


def worth_telling(path: Path, options: Mapping[str, Any], folder: Path) -> list[str]:
    """Return notices of the settings in a parent folder's file that affect where data goes."""
    if path.parent == folder:
        return []
    from usp._http.redaction import redacted, secrets_of_proxies

    tables = [options, *(value for value in options.values() if isinstance(value, dict))]
    return [
        redacted(f"{path} sets {name} = {table[key]!r}", secrets_of_proxies(table[key]))
        for table in tables
        for key in table
        if (name := key.replace("_", "-")) in _TOLD
    ]


def _read(path: Path) -> dict[str, Any] | None:
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        if path.name == "pyproject.toml":
            return None  # other tools read it too, and report what is wrong with it
        raise click.UsageError(f"cannot read {path}: {error}") from error
    if path.name == "pyproject.toml":
        content = content.get("tool", {}).get("usp")
    return content if isinstance(content, dict) else None


def defaults(
    path: Path, options: Mapping[str, Any], commands: Mapping[str, click.Command]
) -> dict[str, dict[str, Any]]:
    """Return the defaults of each command, as click expects them."""
    names = {name: _parameters(command) for name, command in commands.items()}
    result: dict[str, dict[str, Any]] = {name: {} for name in commands}
    for key, value in options.items():
        if key in commands and isinstance(value, dict):
            continue
        users = [name for name in commands if _plain(key) in names[name]]
        if not users:
            raise click.UsageError(f"{path}: no command has an option --{key.replace('_', '-')}")
        for name in users:
            option = names[name][_plain(key)]
            result[name][option.name or ""] = _value(option, value, path.parent)
    for command in commands:
        table = options.get(command)
        for key, value in (table if isinstance(table, dict) else {}).items():
            if _plain(key) not in names[command]:
                raise click.UsageError(f"{path}: usp {command} has no option --{key}")
            option = names[command][_plain(key)]
            result[command][option.name or ""] = _value(option, value, path.parent)
    return result


def _parameters(command: click.Command) -> dict[str, click.Option]:
    """Return the options of a command by the names that users write, without dashes."""
    return {
        _plain(written): parameter
        for parameter in command.params
        if isinstance(parameter, click.Option)
        for written in parameter.opts
        if written.startswith("--")
    }


def _value(option: click.Option, value: Any, folder: Path) -> Any:
    """Return a value as click expects it: for a repeatable option, a table is a list of NAME=VALUE."""
    if option.metavar == "FILE" and isinstance(value, str) and value not in ("", "-"):
        return _path(folder, value)
    if not option.multiple or isinstance(value, list):
        return value
    if isinstance(value, dict):
        return [f"{name}={one}" for name, one in value.items()]
    return [value]


def _path(folder: Path, value: str) -> str:
    """Return a path in the configuration file as it is written in the working folder."""
    if folder == Path.cwd() or Path(value).is_absolute():
        return value
    try:
        return os.path.relpath(folder / value)
    except ValueError:  # on another drive
        return str(folder / value)


def _plain(name: str) -> str:
    return name.lstrip("-").replace("-", "_")
