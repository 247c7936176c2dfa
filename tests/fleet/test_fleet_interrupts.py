"""Ctrl-C and SIGTERM end a run soon, also while a store does not respond, and it says what is safe."""

from __future__ import annotations

import os
import queue
import signal
import threading
from collections.abc import Iterator

import pytest
from fleet_support import ALLOWED, CHANGING, OPTIONS, Served, check_rows

from usp._base.interrupts import InterruptibleThread
from usp.cli import main
from usp.fleet import FleetRun, crawl_fleet
from usp.fleet import run as run_module
from usp.fleet.dataset import Dataset

RUN = FleetRun(workers=1, options=OPTIONS, commit_seconds=0.05)


@pytest.fixture(autouse=True)
def _ctrl_c_raises(_process_as_it_was: None) -> None:
    """Whoever started the tests may have it ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Let the store respond to one commit, and to none after it; Ctrl-C comes then."""
    forever, commit = threading.Event(), Dataset.commit
    commits: list[int] = []

    def one_only(self: Dataset, *given: object) -> None:
        commits.append(len(commits))
        if len(commits) > 1:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            forever.wait()
            raise SystemExit
        commit(self, *given)

    monkeypatch.setattr(Dataset, "commit", one_only)
    monkeypatch.setattr(run_module, "_LAST_SECONDS", 0.1)
    yield commits
    forever.set()


def test_a_function_is_called_and_its_error_is_raised():
    aside = InterruptibleThread()
    assert aside(divmod, 7, 3) == (2, 1)
    with pytest.raises(ZeroDivisionError):
        aside(divmod, 7, 0)
    assert aside.rest() is None


def test_what_was_not_waited_for_can_be_waited_for_later():
    aside, go = InterruptibleThread(), threading.Event()
    aside.patience = 0.01
    with pytest.raises(queue.Empty):
        aside(lambda: go.wait() and "done")
    go.set()
    aside.patience = None
    assert aside.rest() == "done"


@pytest.mark.parametrize("share", [0, 10**6], ids=["at once", "at the end"])
def test_a_run_ends_while_its_store_is_silent_and_what_was_committed_stays(
    fleet: Served, tmp_path, silent, monkeypatch, share
):
    monkeypatch.setattr("usp.fleet.dataset._SHARE", share)  # when the second commit is
    seen = []
    with pytest.raises(KeyboardInterrupt):
        crawl_fleet(fleet.urls[:30], tmp_path / "d", RUN, seen.append)
    assert len(silent) == 2  # it is not tried once more
    assert seen[-1].is_ending
    assert seen[-1].safe == len(Dataset(tmp_path / "d").sites()) > 0


def told_by(root, urls, capsys, *options: str) -> tuple[object, str, str]:
    """Run the command; return its exit status, what it told, and how much is safe."""
    sites = root.with_suffix(".txt")
    sites.write_text("\n".join(urls))
    with pytest.raises(SystemExit) as ended:
        main(["crawl", str(sites), "-o", str(root), *ALLOWED, "--commit-seconds", "0.05", *options])
    told = " ".join(capsys.readouterr().err.split())
    there = len(Dataset(root).sites())
    verb = "is" if there == 1 else "are"
    return ended.value.code, told, f"{there} of {len(urls)} sites {verb} in {root}"


def test_the_command_says_what_is_safe_at_once_and_at_the_end(
    fleet: Served, tmp_path, silent, capsys
):
    status, told, position = told_by(tmp_path / "d", fleet.urls[:30], capsys)
    assert status == 130
    assert f"press Ctrl-C again to quit now: {position}" in told
    assert told.count(position) == 2


@pytest.mark.skipif(os.name == "nt", reason="signals of Unix")
def test_sigterm_keeps_what_is_finished_even_where_it_does_not_end_the_process(
    fleet: Served, tmp_path, monkeypatch, capsys
):
    """The first process of a container survives a SIGTERM that it does not handle."""
    quick = [site for site in fleet.sites if site.kind == "small"][:30]
    sent, commit = [], Dataset.commit

    def then_sigterm(self: Dataset, *given: object) -> None:
        commit(self, *given)
        if not sent:
            sent.append(signal.SIGTERM)
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)

    monkeypatch.setattr(Dataset, "commit", then_sigterm)
    monkeypatch.setattr("usp.cli.run_options.os.kill", lambda _, number: sent.append(number))
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    urls = [site.url for site in quick]
    status, told, position = told_by(tmp_path / "d", urls, capsys, "--in-flight", "2")
    assert status == 128 + signal.SIGTERM
    assert sent == [signal.SIGTERM] * 2
    dataset = Dataset(tmp_path / "d")
    there = dataset.sites()
    assert 0 < len(there) < len(quick)
    tables = {name: dataset.table(name).to_pyarrow_dataset() for name in CHANGING}
    check_rows(tables, [site for site in quick if site.url in there])
    assert told == f"usp: {position}; the same command goes on"
