"""Threads that store documents do not wait for each other's disk."""

from __future__ import annotations

import os
import threading

import pytest

from usp import _store
from usp._store import Store

WAIT = 10.0


@pytest.mark.skipif(not hasattr(os, "pwrite"), reason="this system writes where it stands")
def test_a_slow_write_does_not_hold_up_others(monkeypatch):
    store, began, go_on = Store(), threading.Event(), threading.Event()
    real = os.pwrite

    def slow(file, data, offset):
        if bytes(data) == b"slow":
            began.set()
            assert go_on.wait(WAIT)
        return real(file, data, offset)

    monkeypatch.setattr(os, "pwrite", slow)
    places = {}
    thread = threading.Thread(target=lambda: places.update(slow=store.append(b"slow")))
    thread.start()
    assert began.wait(WAIT)
    places["quick"] = store.append(b"quick")  # would wait forever for a lock
    assert b"".join(store.read([places["quick"]])) == b"quick"
    go_on.set()
    thread.join(WAIT)
    assert b"".join(store.read([places["slow"], places["quick"]])) == b"slowquick"


@pytest.mark.parametrize("has_offsets", [True, False])
def test_a_write_that_takes_only_a_part_goes_on(monkeypatch, has_offsets):
    if has_offsets and not hasattr(os, "pwrite"):
        pytest.skip("this system writes where it stands")
    monkeypatch.setattr(_store, "_HAS_OFFSETS", has_offsets)
    if has_offsets:
        real = os.pwrite
        monkeypatch.setattr(os, "pwrite", lambda file, data, at: real(file, data[:3], at))
    store = Store()
    places = [store.append(text) for text in (b"0123456789", b"", b"abcdefg")]
    assert b"".join(store.read(places)) == b"0123456789abcdefg"
