"""Ctrl-C while another thread works: nothing of its work is lost, at whatever moment it comes."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from usp._base.interrupts import InterruptibleThread


@pytest.mark.long
@pytest.mark.skipif(os.name == "nt", reason="signals of Unix")
def test_a_call_whose_wait_was_interrupted_can_be_waited_for_again():
    main = threading.main_thread().ident or 0
    came: list[int] = []
    kept: list[int] = []

    def interrupt(*_: object) -> None:
        came.append(1)
        raise KeyboardInterrupt

    def work(number: int) -> None:
        kept.append(number)
        killer = threading.Thread(target=signal.pthread_kill, args=(main, signal.SIGUSR1))
        killer.start()  # it comes when the work is finished, or nearly so

    before = signal.signal(signal.SIGUSR1, interrupt)
    try:
        for number in range(500):
            aside = InterruptibleThread()
            aside.patience = 20
            try:
                aside(work, number)
                while len(came) <= number:
                    time.sleep(0.001)
            except KeyboardInterrupt:
                pass
            aside.rest()
            assert kept[-1] == number
    finally:
        signal.signal(signal.SIGUSR1, before)
