"""Findings as text, JSON, SARIF, JUnit and GitHub annotations: one module for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from usp.checks.formats.github import github
from usp.checks.formats.json_lines import json_object, json_per_line
from usp.checks.formats.junit import junit
from usp.checks.formats.sarif import sarif
from usp.checks.formats.subject import Subject
from usp.checks.formats.text import text

Format: TypeAlias = Callable[[Subject], Iterator[str]]

FORMATS: Mapping[str, Format] = {
    "text": text,
    "json": json_object,
    "jsonl": json_per_line,
    "sarif": sarif,
    "junit": junit,
    "github": github,
}
"""The formats: what is checked in, lines without their ends out."""

__all__ = ["FORMATS", "Format", "Subject"]
