"""A worker that dies takes nothing with it, a site that kills workers is found out, Ctrl-C ends a run."""

import multiprocessing
import os
import queue
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from types import SimpleNamespace
from unittest.mock import Mock

import fleet_support
import pytest
from fleet_support import ALLOWED, OPTIONS, Served, check_truth, ended, handed_out, outcomes_of

from usp._base.files import DatasetError, InterruptibleThread
from usp.fleet import FleetRun, crawl_fleet, engines
from usp.fleet import run as run_module
from usp.fleet.crawler import Job, crawl_parts
from usp.fleet.dataset import Dataset
from usp.fleet.engines import RayEngine, Signal, work
from usp.fleet.site_list import WaitingSite
from usp.fleet.tables import Part

RUN = FleetRun(workers=2, options=OPTIONS, commit_seconds=0.2)


def test_a_site_that_kills_workers_fails_and_the_others_do_not(fleet, root, monkeypatch):
    monkeypatch.setattr(engines, "work", fleet_support.dies_of_poison)
    monkeypatch.setattr(engines, "_BATCH", 4)
    some = [site for site in fleet.sites if site.kind in {"small", "indexed"}][:12]
    urls = [site.url for site in some]
    urls.insert(5, "http://poison.invalid/")
    summary = crawl_fleet(urls, root, RUN)
    assert summary["sites"] == 13
    assert summary["workers_lost"] >= 3
    assert summary["pages"] == sum(len(site.pages) for site in some)
    outcomes = outcomes_of(root)
    assert outcomes.pop("http://poison.invalid/") == "failed"
    assert outcomes == {site.url: "complete" for site in some}


def test_workers_that_never_begin_and_full_disks_end_the_run(fleet, tmp_path, monkeypatch):
    for worker, said in ((fleet_support.never_begins, "exit status: 7"),
                         (fleet_support.has_no_room, "No space left")):  # fmt: skip
        monkeypatch.setattr(engines, "work", worker)
        with pytest.raises(DatasetError, match=said):
            crawl_fleet(fleet.urls[:3], tmp_path / "dataset", RUN)


# The parts of both engines, in this process ---------------------------------------------------------


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_worker_asks_for_batches_tells_what_it_has_done_and_ends_with_its_driver(
    fleet, tmp_path, monkeypatch
):
    statuses: list[int] = []

    def end(status: int) -> None:
        statuses.append(status)
        raise SystemExit

    monkeypatch.setattr(os, "_exit", end)
    urls = [site.url for site in fleet.sites if site.kind == "small"][:3]
    answers = [[WaitingSite(url, url)] for url in urls] + [[]]
    ours, theirs = multiprocessing.Pipe()
    told: list[object] = []

    def drive() -> None:
        while not told or not isinstance(told[-1], Part):
            told.append(ours.recv())
            if told[-1] is Signal.NEED_WORK:
                ours.send(answers.pop(0))

    driver = threading.Thread(target=drive)
    driver.start()
    work(theirs, Job(RUN, str(tmp_path), 1))
    driver.join()
    assert sorted(one["site"] for one in told if isinstance(one, dict)) == sorted(urls)
    (done,) = [one.sites for one in told if isinstance(one, Part)]
    assert {row["site"]: row["outcome"] for row in done} == dict.fromkeys(urls, "complete")
    assert not statuses
    ours.close()
    for thread in threading.enumerate():
        if thread.name == "usp-fleet-driver":
            thread.join()
    assert statuses == [1]


def test_a_worker_that_is_stopped_reports_what_it_has(fleet, tmp_path):
    urls = [site.url for site in fleet.sites if site.kind in {"small", "slow"}]
    stopped = threading.Event()
    (group,) = crawl_parts(
        Job(RUN, str(tmp_path), 1),
        iter([[WaitingSite(url, url) for url in urls]]),
        on_site=lambda _: stopped.set(),
        stopped=stopped.is_set,
    )
    assert 0 < len(group.sites) < len(urls)
    assert {part.table for part in group.files} == {"pages", "fetches", "visits"}


# Who gets what -------------------------------------------------------------------------------------


def test_sites_of_a_worker_that_died_are_handed_out_again():
    left = handed_out(("a1", "a"), ("a2", "a"), ("b1", "b"))
    assert [one.url for one in left.batch(9, "x")] == ["a1", "a2", "b1"]
    left.done("x", ["a1"])
    assert [one.url for one in left.lost("x")] == ["a2", "b1"]
    assert [(one.url, one.kills) for one in left.batch(9, "y")] == [("a2", False), ("b1", False)]
    assert not left.has_more


def test_a_site_with_which_two_workers_died_gets_a_worker_of_its_own_and_fails_with_the_third():
    left = handed_out(("a", "a"), ("b", "b"))
    for worker in "xy":
        assert len(left.batch(9, worker)) == len(left.lost(worker)) == 2
    (first,) = left.batch(9, "z")
    assert first == WaitingSite("a", "a", deaths=2)
    assert left.batch(9, "z") == []  # nothing else, as long as it has that
    assert left.batch(9, "w") is None
    (killer,) = left.lost("z")
    assert (killer.url, killer.kills) == ("a", True)
    assert left.batch(9, "w") == [WaitingSite("b", "b", deaths=2)]
    assert not left.has_more


class _RayError(Exception):
    """What Ray raises when a task is lost."""


class _RayTaskError(_RayError):
    """What it raises for an exception of a task."""


class FakeRay:
    """Does in this process what Ray does in others; ``deaths`` are after how many parts tasks die."""

    exceptions = SimpleNamespace(
        RayError=_RayError, RayTaskError=_RayTaskError, RaySystemError=type("E", (_RayError,), {})
    )

    def __init__(self, error=None, deaths=()):
        self.deaths = list(deaths)
        self.init, self.shutdown = Mock(side_effect=error), Mock()
        self.is_initialized = Mock(return_value=False)
        self.cluster_resources = Mock(return_value={"CPU": 2.0})

    def remote(self, **_):
        return lambda function: SimpleNamespace(
            remote=lambda *arguments: self.stream(function(*arguments))
        )

    def stream(self, groups):
        death = self.deaths.pop(0) if self.deaths else None
        number, group = 0, next(groups, None)
        while group is not None and number != death:
            yield group
            number += 1
            try:
                group = groups.send("go on")  # as Ray does, which does not send None
            except StopIteration:
                break
        if death is not None:
            yield _RayError("a node is gone")

    def wait(self, streams, **_):
        return streams[:1], streams[1:]

    def get(self, value):
        if isinstance(value, Exception):
            raise type(value)(*value.args)  # a new one, which this frame does not keep
        return value


def engine_on(fake, monkeypatch, root, **options):
    monkeypatch.setattr(engines, "ray_module", lambda part="": fake)
    how = replace(RUN, **{"engine": "ray", **options})
    return RayEngine(Job(how, str(root), 1))


@pytest.mark.parametrize("deaths", [(), (0, 0, 0), (1, 0, 1)])
def test_ray_gets_batches_and_reports_groups_and_what_is_lost_is_crawled_again(
    fleet, tmp_path, monkeypatch, deaths
):
    urls = [site.url for site in fleet.sites if site.kind in {"small", "text", "feed"}][:16]
    fake = FakeRay(deaths=deaths)
    engine = engine_on(fake, monkeypatch, tmp_path, workers=2)
    told = list(engine.run(handed_out(*((url, url) for url in urls))))
    groups = [one for one in told if isinstance(one, Part)]
    assert sorted(row["site"] for group in groups for row in group.sites) == sorted(urls)
    lost = [one for one in told if one is Signal.LOST]
    assert len(lost) == deaths.count(0)
    assert fake.init.call_args.kwargs["num_cpus"] == 2
    assert fake.shutdown.called


def test_a_site_that_kills_every_task_fails_and_other_errors_end_the_run(
    fleet, tmp_path, monkeypatch
):
    engine = engine_on(FakeRay(deaths=[0] * 9), monkeypatch, tmp_path)
    told = list(engine.run(handed_out((fleet.urls[0], "a"))))
    (group,) = [one for one in told if isinstance(one, Part)]
    assert [(row["site"], row["outcome"]) for row in group.sites] == [(fleet.urls[0], "failed")]
    failing = FakeRay()
    failing.stream = lambda _: iter([_RayTaskError("trace\nthe store is gone")])
    for fake, said in ((FakeRay(ConnectionError()), "cannot connect to Ray: ConnectionError"),
                       (failing, "a worker failed: the store is gone")):  # fmt: skip
        engine = engine_on(fake, monkeypatch, tmp_path, address="auto")
        with pytest.raises(DatasetError, match=said):
            list(engine.run(handed_out((fleet.urls[0], "a"))))


@pytest.mark.parametrize("said", [None, b"", b"HTTP/1.1 400 Bad Request\r\n\r\n"])
def test_an_address_at_which_ray_does_not_listen_is_an_error_in_words(tmp_path, monkeypatch, said):
    monkeypatch.setattr("usp.fleet.engines._GREETING_SECONDS", 0.2)
    with ExitStack() as stack:
        port = 9
        if said is not None:
            server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            port = server.getsockname()[1]
        for address in (f"127.0.0.1:{port}", f"ray://127.0.0.1:{port}"):
            engine = engine_on(FakeRay(), monkeypatch, tmp_path, address=address)
            answers = threading.Thread(target=lambda: _answer(server, said))
            if said:
                answers.start()
                stack.callback(answers.join)
            with pytest.raises(DatasetError, match=f"cannot connect to Ray at {address}: "):
                list(engine.run(handed_out()))


def _answer(server: socket.socket, said: bytes) -> None:
    with server.accept()[0] as connection:
        connection.sendall(said)
        connection.recv(1000)


def test_among_many_suspects_the_one_that_kills_is_found_with_few_workers():
    """A node that is lost twice has thousands of sites, nearly all of them innocent."""
    names = [f"s{number}" for number in range(4000)]
    left = handed_out(*((name, name) for name in names))
    done, workers = [], 0
    killers = []
    while len(left):
        workers += 1
        batch = [one.url for one in left.batch(4000, workers)]
        if "s1234" not in batch and workers > 2:
            left.done(workers, batch)
            done += batch
        else:
            killers += [one.url for one in left.lost(workers) if one.kills]
    assert killers == ["s1234"]
    assert sorted([*done, *killers]) == sorted(names)
    assert workers < 50


# Ctrl-C and SIGTERM end a run soon, also while a store does not respond, and it says what is safe -


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


def test_what_a_function_does_can_be_waited_for_later():
    aside, go = InterruptibleThread(), threading.Event()
    assert aside(divmod, 7, 3) == (2, 1)
    with pytest.raises(ZeroDivisionError):
        aside(divmod, 7, 0)
    assert aside.rest() is None
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
    monkeypatch.setattr("usp.fleet.run._SHARE", share)  # when the second commit is
    seen, run = [], FleetRun(workers=1, options=OPTIONS, commit_seconds=0.05)
    with pytest.raises(KeyboardInterrupt):
        crawl_fleet(fleet.urls[:30], tmp_path / "d", run, seen.append)
    assert len(silent) == 2  # it is not tried once more
    assert seen[-1].is_ending
    assert seen[-1].safe == len(outcomes_of(tmp_path / "d")) > 0


def told_by(root, urls, capsys, *options: str) -> tuple[object, str, str]:
    """Run the command; return its exit status, what it told, and how much is safe."""
    sites = root.with_suffix(".txt")
    sites.write_text("\n".join(urls))
    quick = ("--commit-seconds", "0.05", *options)
    status, told = ended(capsys, "crawl", sites, "-o", root, *ALLOWED, *quick)
    there = len(outcomes_of(root))
    verb = "is" if there == 1 else "are"
    return status, " ".join(told.split()), f"{there} of {len(urls)} sites {verb} in {root}"


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
    there = outcomes_of(tmp_path / "d")
    assert 0 < len(there) < len(quick)
    check_truth(tmp_path / "d", [site for site in quick if site.url in there])
    assert told == f"usp: {position}; run the same command to resume"


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
