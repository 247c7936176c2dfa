"""Who writes to a dataset: one run at a time, and nobody who is left over from an older one."""

from __future__ import annotations

import contextlib
import importlib
import os
import time
from typing import TYPE_CHECKING, Any

from usp.fleet.dataset import Dataset, DatasetError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PATIENCE = 60.0
"""Seconds to wait for the workers of a run whose driver is gone."""


@contextlib.contextmanager
def driving(root: Path) -> Iterator[None]:
    """Be the only run that writes to a dataset; raises :class:`DatasetError` if there is another."""
    with _locked(root / "_lock", shared=False, patience=0.0) as mine:
        if not mine:
            raise DatasetError(f"another run is writing to {root}; wait for it, or end it")
        yield


@contextlib.contextmanager
def without_workers(root: Path) -> Iterator[None]:
    """Let no worker write; raises :class:`DatasetError` if those of an older run do not end.

    Whoever begins a run inside keeps them out for good: they see that theirs is not the last one.
    """
    with _locked(root / "_workers", shared=False, patience=PATIENCE) as alone:
        if not alone:
            raise DatasetError(f"workers of an older run still write to {root}; end them first")
        yield


@contextlib.contextmanager
def working(root: Path, run: int) -> Iterator[None]:
    """Be one of the workers of a run; raises :class:`DatasetError` if a newer one has begun."""
    with _locked(root / "_workers", shared=True, patience=PATIENCE):
        Dataset(root).check_run(run)
        yield


@contextlib.contextmanager
def _locked(path: Path, *, shared: bool, patience: float) -> Iterator[bool]:
    """Hold a lock, which goes with the process however that ends; False if it is not to be had."""
    locks = _fcntl()
    if locks is None:
        yield True
        return
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        kind = locks.LOCK_SH if shared else locks.LOCK_EX
        yield _take(locks, descriptor, kind, patience)
    finally:
        os.close(descriptor)


def _fcntl() -> Any:
    """Give the locks of Unix; without them the commits of two runs are told apart afterwards."""
    try:
        return importlib.import_module("fcntl")
    except ImportError:
        return None


def _take(locks: Any, descriptor: int, kind: int, patience: float) -> bool:
    end = time.monotonic() + patience
    while True:
        try:
            locks.flock(descriptor, kind | locks.LOCK_NB)
        except OSError:
            if time.monotonic() >= end:
                return False
            time.sleep(0.05)
        else:
            return True
