"""What a fleet needs beside the library, loaded when it is needed."""

from __future__ import annotations

import importlib
from typing import Any

from usp.export.schema import MissingExtraError

_WHY = {
    "usp.fleet.client": ("Crawling many sites", "aiohttp", "async"),
    "duckdb": ("The statistics of a dataset", "duckdb", "fleet"),
    "ray": ("The engine ray", "ray", "ray"),
    "ray.data": ("The engine ray", "ray[data]", "ray"),
}


def need(name: str) -> Any:
    """Load a module of an extra; raises ``MissingExtraError``, which says how it is installed."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        what, package, extra = _WHY[name]
        raise MissingExtraError(f"{what} needs {package}: pip install 'usp[{extra}]'") from error
