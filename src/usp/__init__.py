"""Finds, fetches and reads the sitemaps of a website, and gives them back as a tree.

The front door is :func:`usp.tree.sitemap_tree_for_homepage`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import usp._compat.other_distribution  # noqa: F401 - importing it warns
from usp._compat.names import elsewhere

if not TYPE_CHECKING:
    __getattr__ = elsewhere(__name__)

__all__ = ["__version__", "tree"]

__version__ = "2.0.0.dev0"
