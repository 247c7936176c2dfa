"""Options from a file: ``usp.toml``, or the table ``[tool.usp]`` of ``pyproject.toml``.

A key is an option without its dashes. Keys at the top are for every command that has such an option;
a table with the name of a command is for that one.
"""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

import rich_click as click

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def find(folder: Path) -> tuple[Path, dict[str, Any]] | None:
    """Give the nearest file that has options, in a folder or above it, and what it says."""
    for place in (folder, *folder.parents):
        for name in ("usp.toml", "pyproject.toml"):
            path = place / name
            if path.is_file():
                options = _read(path)
                if options is not None:
                    return path, options
    return None


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
