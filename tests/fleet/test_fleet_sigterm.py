"""SIGTERM ends a run as Ctrl-C does: finished sites are in the dataset, and it says how to go on."""

from __future__ import annotations

import os
import signal
import threading

import pytest
from fleet_support import CHANGING, Served, check_rows

from usp.cli import main
from usp.fleet.dataset import Dataset

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals of Unix")


def test_sigterm_keeps_what_is_finished_even_where_it_does_not_end_the_process(
    fleet: Served, tmp_path, monkeypatch, capsys
):
    """The first process of a container survives a SIGTERM that it does not handle."""
    sites, root = tmp_path / "sites.txt", tmp_path / "d"
    quick = [site for site in fleet.sites if site.kind == "small"][:30]
    sites.write_text("\n".join(site.url for site in quick))
    sent, commit = [], Dataset.commit

    def then_sigterm(self: Dataset, *given: object) -> None:
        commit(self, *given)
        if not sent:
            sent.append(signal.SIGTERM)
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)

    monkeypatch.setattr(Dataset, "commit", then_sigterm)
    monkeypatch.setattr("usp.cli.run_options.os.kill", lambda _, number: sent.append(number))
    options = ("--workers", "1", "--in-flight", "2", "--commit-seconds", "0.05")
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        with pytest.raises(SystemExit) as ended:
            main(["crawl", str(sites), "-o", str(root), *options, "--allow-network", "127.0.0.0/8"])
    finally:
        signal.signal(signal.SIGTERM, before)
    assert ended.value.code == 128 + signal.SIGTERM
    assert sent == [signal.SIGTERM] * 2
    dataset = Dataset(root)
    there = dataset.sites()
    assert 0 < len(there) < len(quick)
    tables = {name: dataset.table(name).to_pyarrow_dataset() for name in CHANGING}
    check_rows(tables, [site for site in quick if site.url in there])
    told = " ".join(capsys.readouterr().err.split())
    position = f"{len(there)} of {len(quick)} sites {'is' if len(there) == 1 else 'are'} in {root}"
    assert told == f"usp: {position}; the same command goes on"
