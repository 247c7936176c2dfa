"""Warns of ultimate-sitemap-parser, which has the same import name and overwrites our files.

Importing this module is enough. It is imported first by ``usp``, and by ``usp._crawl`` in case
``usp/__init__.py`` itself was overwritten.
"""

from __future__ import annotations

import os
import sys

_OTHER = "ultimate_sitemap_parser"
_FOLDERS = ("site-packages", "dist-packages")


def warn_of_the_other() -> None:
    """Warn if ultimate-sitemap-parser is installed where Python looks for packages.

    This only lists folders, since ``importlib.metadata`` takes longer than the rest of ``import usp``.
    If warnings are errors, it logs instead: the import itself has worked.
    """
    here = __file__
    for _ in ("other_distribution.py", "_compat", "usp"):
        here = os.path.dirname(here)  # noqa: PTH120 - pathlib takes too long
    if not any(map(_holds_the_other, {here, *filter(_is_for_packages, sys.path)})):
        return
    import logging  # noqa: PLC0415 - in this case only
    import warnings  # noqa: PLC0415

    message = (
        "ultimate-sitemap-parser is installed beside usp; both are imported as 'usp' and overwrite "
        "each other's files. Uninstall both, then install usp again: "
        "pip uninstall -y ultimate-sitemap-parser usp && pip install usp"
    )
    try:
        warnings.warn(message, UserWarning, stacklevel=2)
    except UserWarning:
        logging.getLogger("usp").warning(message)


def _is_for_packages(folder: str) -> bool:
    return folder.rstrip("/\\").endswith(_FOLDERS)


def _holds_the_other(folder: str) -> bool:
    try:
        names = os.listdir(folder)  # noqa: PTH208
    except OSError:
        return False
    return any(name.lower().replace("-", "_").startswith(_OTHER) for name in names)


warn_of_the_other()
