"""Writes the pages."""

from __future__ import annotations

from tools.reference_pages import write

write()
