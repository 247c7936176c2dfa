"""Writes the pages."""

from __future__ import annotations

from tools.reference_pages import FOLDER, all_pages, stale

for path, text in all_pages().items():
    FOLDER.joinpath(path).parent.mkdir(parents=True, exist_ok=True)
    FOLDER.joinpath(path).write_text(text, encoding="utf-8")
for page in stale():
    page.unlink()
