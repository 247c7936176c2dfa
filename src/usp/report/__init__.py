"""A report about the sitemaps of a website, as one self-contained HTML page.

Its modules are loaded on first use: what counts and names things here is used elsewhere too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from usp._base.names import lazy_getattr

if TYPE_CHECKING:
    from usp.report.charts import FetchLog
    from usp.report.html_page import html, write_report
    from usp.report.summary import summarise
else:
    __getattr__ = lazy_getattr(__name__)

__all__ = ["FetchLog", "html", "summarise", "write_report"]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
