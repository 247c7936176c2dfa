"""Options from a file: ``usp.toml``, or the table ``[tool.usp]`` of ``pyproject.toml``.

A key is an option without its dashes. Keys at the top are for every command that has such an option;
a table with the name of a command is for that one.
"""

from __future__ import annotations

import os
import tomllib
from typing import TYPE_CHECKING, Any

import rich_click as click

from usp._http.failures import redacted, secrets_of_proxies

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


_TOLD = frozenset({"log-file", "proxy", "output", "insecure", "ca-bundle"})
"""Options that send data elsewhere, or let somebody else read it."""


def find(folder: Path) -> tuple[Path, dict[str, Any]] | None:
    """Return the nearest file that has options, in a folder or above it, and what it says.

    A file in a folder above counts only if it belongs to the user: anybody can leave one in ``/tmp``.
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
    # Neither a link of another user to a file of ours counts, nor one of ours to theirs.
    return {path.stat().st_uid, path.lstat().st_uid} == {os.geteuid()}


def worth_telling(path: Path, options: Mapping[str, Any], folder: Path) -> list[str]:
    """Return what a file in a folder above says about where data goes, for the user to know."""
    if path.parent == folder:
        return []
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
            return None  # that file is for others too; they will say what is wrong with it
        raise click.UsageError(f"{path} cannot be read: {error}") from error
    if path.name == "pyproject.toml":
        content = content.get("tool", {}).get("usp")
    return content if isinstance(content, dict) else None


def defaults(
    path: Path, options: Mapping[str, Any], commands: Mapping[str, click.Command]
) -> dict[str, dict[str, Any]]:
    """Give the defaults of each command, as click takes them."""
    names = {name: _parameters(command) for name, command in commands.items()}
    result: dict[str, dict[str, Any]] = {name: {} for name in commands}
    for key, value in options.items():
        if key in commands and isinstance(value, dict):
            continue
        users = [name for name in commands if _plain(key) in names[name]]
        if not users:
            raise click.UsageError(f"{path}: there is no option --{key.replace('_', '-')}")
        for name in users:
            result[name][names[name][_plain(key)]] = value
    for command in commands:
        table = options.get(command)
        for key, value in (table if isinstance(table, dict) else {}).items():
            if _plain(key) not in names[command]:
                raise click.UsageError(f"{path}: usp {command} has no option --{key}")
            result[command][names[command][_plain(key)]] = value
    return result


def _parameters(command: click.Command) -> dict[str, str]:
    """Give the names of options as they are written, without dashes, and as click knows them."""
    return {
        _plain(written): parameter.name or ""
        for parameter in command.params
        if isinstance(parameter, click.Option)
        for written in parameter.opts
        if written.startswith("--")
    }


def _plain(name: str) -> str:
    return name.lstrip("-").replace("-", "_")
