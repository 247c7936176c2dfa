"""Where a finding is, as people and programs name it: files by their paths, all else by URLs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit
from urllib.request import url2pathname

if TYPE_CHECKING:
    from usp.checks.values import Finding

__all__ = ["Places", "path_of"]


def path_of(url: str) -> Path | None:
    """Return the path of a local file or folder; None for any other URL."""
    return Path(url2pathname(urlsplit(url).path)) if url.startswith("file:") else None


class Places:
    """Names sitemaps as they are seen from a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()

    def name(self, url: str) -> str:
        """Return the path of a local sitemap, relative if it is in the folder; otherwise its URL."""
        relative = self.relative(url)
        if relative is not None:
            return relative
        path = path_of(url)
        return url if path is None else str(path)

    def relative(self, url: str) -> str | None:
        """Return the path of a local sitemap inside the folder, with slashes."""
        path = path_of(url)
        if path is None or not path.is_relative_to(self.folder):
            return None
        return path.relative_to(self.folder).as_posix()

    def uri(self, url: str) -> str:
        """Return the same as a URI, which is relative for files inside the folder."""
        relative = self.relative(url)
        return url if relative is None else quote(relative)


def spot(finding: Finding) -> str:
    """Return line and column as ``12:5``, as far as they are known."""
    if finding.line is None:
        return ""
    return f"{finding.line}" if finding.column is None else f"{finding.line}:{finding.column}"


def said(finding: Finding) -> str:
    """Return the message of a finding, with its page unless that is quoted already."""
    if finding.page is None or finding.page in finding.message:
        return finding.message
    return f"{finding.message}: {finding.page}"
