"""Modules of optional dependencies, imported when something needs them."""

from __future__ import annotations

import importlib
from typing import Any


class MissingExtraError(ImportError):
    """An optional dependency is not installed; the message says how to install it."""


def load_extra(module: str, needs: str, extra: str) -> Any:
    """Return a module of an extra.

    Raises :class:`MissingExtraError`, which says what needs it and how to install it.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(f"{needs}: pip install 'usp[{extra}]'") from error
