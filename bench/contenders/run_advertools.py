"""advertools: sitemap_to_df of robots.txt."""

from __future__ import annotations

import logging
from typing import Any

from advertools import sitemap_to_df
from measure import measure


def work(options: dict[str, Any]) -> dict[str, Any]:
    """Read everything into one data frame."""
    logging.disable(logging.WARNING)
    frame = sitemap_to_df(f"{options['homepage']}robots.txt")
    return {"found": int(frame["loc"].notna().sum())}


measure(work)
