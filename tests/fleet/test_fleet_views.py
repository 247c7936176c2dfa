"""What a dataset has now, or had at a time; its changes; sites that it forgets; earlier versions."""

import json
import random
import urllib.request
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple
from unittest.mock import Mock

import polars as pl
import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake

import usp
from usp._base.files import DatasetError, FileStore, NotADatasetError
from usp.fleet import ChangesFeed, current_sql, dataset_stats
from usp.fleet import open as open_dataset
from usp.fleet.current import CURRENT, OpenDataset, take_over
from usp.fleet.dataset import Dataset
from usp.fleet.joins import KnownSites
from usp.fleet.leave_alone import LeaveAlone, forget
from usp.fleet.metrics import exporting, openmetrics, read_target
from usp.fleet.options import Shard
from usp.fleet.run import FleetProgress
from usp.fleet.tables import bucket_of, domain_of, schema_of

BEGIN = datetime(2025, 5, 1, tzinfo=UTC)
SITES = ("https://a.example/", "https://shop.b.example/", "https://b.example:8080/")


class History:
    """Writes rows of visits, as the schema says that a crawl does."""

    def __init__(self, root: Path) -> None:
        self.root = root
        Dataset(root).make()

    def visit(
        self, site, hours, fetches, pages=(), changes=(), writer="0/1", number=1, *, counts=True
    ):
        """``fetches`` are changes of a usual row, by sitemap; ``pages`` URLs by sitemap."""
        at, visit = BEGIN + timedelta(hours=hours), f"{writer}.{number}.{site}"
        usual = {"type": "urlset", "good": True, "fetched_at": at, "failures": 0, "status": 200}
        rows = {
            "changes": [{"seen_at": at, **change} for change in changes],
            "pages": [{"sitemap": s, "url": url, "first_seen": at} for s, url in pages],
            "fetches": [{"sitemap": s, **usual, **more} for s, more in fetches.items()],
            "visits": [{"started": at, "outcome": "complete", "due": at, "run": 1}],
        }
        for table, listed in rows.items():
            if listed and (counts or table != "visits"):
                own = {"site": site, "domain": domain_of(site), "visit": visit}
                self._append(table, [own | row for row in listed], writer, number)
        return visit

    def _append(self, table, rows, writer, number):
        schema = schema_of(table)
        empty = dict.fromkeys(schema.names)
        whole = [
            empty | row | {"bucket": bucket_of(row["domain"]), "writer": writer, "number": number}
            for row in rows
        ]
        mark = CommitProperties(app_transactions=[Transaction(f"usp {writer}", number)])
        data = pa.Table.from_pylist(whole, schema=schema)
        write_deltalake(self.root / table, data, mode="append", commit_properties=mark)


@pytest.fixture
def root(tmp_path):
    return tmp_path / "dataset"


@pytest.fixture
def known(root):
    """Two sites; the sitemap of one has failed since, and a commit was cut short."""
    history, site, other = History(root), *SITES[:2]
    map_a, map_b = f"{site}map.xml", f"{other}map.xml"
    pages = [(map_a, f"{site}{n}") for n in "12"]
    first = history.visit(site, 0, {map_a: {"pages_visit": f"0/1.1.{site}"}}, pages)
    failed = {"good": False, "code": "server-error", "status": 503, "pages_visit": first}
    history.visit(site, 1, {map_a: failed}, number=2)
    added = [
        {"url": f"{other}{n}", "sitemap": map_b, "kind": "added", "title": f"<{n}>"} for n in "34"
    ]
    pages = [(map_b, f"{other}{n}") for n in "34"]
    fetches = {map_b: {"pages_visit": f"1/2.1.{other}"}}
    history.visit(other, 2, fetches, pages, added, writer="1/2")
    pages, fetches = [(map_a, f"{site}lost")], {map_a: {"pages_visit": f"0/1.3.{site}"}}
    lost = [{"url": f"{site}lost", "sitemap": map_a, "kind": "added"}]
    history.visit(site, 3, fetches, pages, lost, number=3, counts=False)
    return history


class Ended(NamedTuple):
    status: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


@pytest.fixture
def run_usp(run):
    return lambda *arguments: Ended(*run(*arguments))


def urls(root, at=None, **how):
    rows = open_dataset(root, at).pages(columns=["url"], **how).read_all()
    return sorted(rows.column("url").to_pylist())


def test_a_failure_removes_nothing_and_a_commit_that_was_cut_short_is_seen_by_nobody(known, root):
    a, b = SITES[:2]
    assert urls(root) == [f"{a}1", f"{a}2", f"{b}3", f"{b}4"]
    (row,) = open_dataset(root).sitemaps("a.example").read_all().to_pylist()
    assert (row["status"], row["good"], row["code"]) == (503, False, "server-error")
    assert urls(root, site="https://a.example") == [f"{a}1", f"{a}2"]
    assert urls(root, at=BEGIN + timedelta(minutes=1)) == [f"{a}1", f"{a}2"]
    assert urls(root, at=BEGIN - timedelta(minutes=1)) == []
    assert open_dataset(root).sites().read_all().num_rows == 2
    assert dataset_stats(root)["totals"]["sites"] == 2
    with pytest.raises(ValueError, match="unknown column 'title'"):
        open_dataset(root).pages(columns=["title"])
    with pytest.raises(NotADatasetError):
        open_dataset(root / "visits")


def expected(visits):
    """Return the pages and sitemaps that should be there, by a model in Python."""
    pages, sitemaps = {}, {}
    for site, fetches, own_pages in visits:
        for sitemap, row in fetches.items():
            gone = row.get("type") == "gone"
            sitemaps.pop((site, sitemap), None) if gone else sitemaps.update({(site, sitemap): row})
            if row.get("good", True):
                listed = [url for at, url in own_pages if at == sitemap]
                pages[site, sitemap] = [] if gone or not row.get("pages_visit") else listed
    return Counter(url for listed in pages.values() for url in listed), len(sitemaps)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long)])
def test_duckdb_and_polars_agree_with_a_model_whatever_has_happened(root, seed):
    chance, history, visits, known = random.Random(seed), History(root), [], {}
    for number in range(1, 21):
        site, fetches, pages = chance.choice(SITES), {}, []
        for name in chance.sample("xyz", 2):
            sitemap = f"{site}{name}.xml"
            (what,) = chance.choices(("new", "failed", "empty", "gone"), (4, 4, 1, 1))
            fetches[sitemap] = {
                "new": {"pages_visit": f"0/1.{number}.{site}"},
                "empty": {},
                "failed": {"good": False, "code": "server-error"},
                "gone": {"type": "gone"},
            }[what]
            if what == "new":
                pages += [
                    (sitemap, f"{site}{name}{number}-{n}") for n in range(chance.randrange(4))
                ]
        counts = chance.random() < 0.8
        history.visit(site, number, fetches, pages, number=number, counts=counts)
        if counts:
            visits.append((site, fetches, pages))
            known[BEGIN + timedelta(hours=number)] = now = expected(visits)
            if number % 5 == 0:  # what is there at other times is asked for below
                assert Counter(urls(root)) == now[0]
    for at, then in known.items():
        found = Counter(urls(root, at)), open_dataset(root, at).sitemaps().read_all().num_rows
        assert found == then
    for table in ("pages", "fetches", "visits"):
        DeltaTable(root / table).optimize.compact()
    assert Counter(urls(root)) == now[0]
    frames = {name: pl.scan_delta(str(root / name)) for name in ("visits", "fetches", "pages")}
    views = {view: pl.SQLContext(frames).execute(current_sql(view)).collect() for view in CURRENT}
    assert Counter(views["pages"]["url"].to_list()) == now[0]
    assert views["sitemaps"].height == now[1]
    assert views["sites"].height == len({site for site, *_ in visits})


# Changes --------------------------------------------------------------------------------------------


def test_a_site_is_found_by_its_host_whatever_its_scheme(root):
    history = History(root)
    for scheme in ("http", "https"):
        home = f"{scheme}://{scheme}.example:8080/"
        change = {"url": f"{home}1", "kind": "added", "sitemap": "s"}
        history.visit(home, 0, {}, (), [change], number=len(scheme))
        for site, count in ((home, 1), (f"{scheme}.example:8080", 1), ("other.example", 0)):
            assert open_dataset(root).sites(site).read_all().num_rows == count
            assert ChangesFeed(root).read(site=site)[0].read_all().num_rows == count


@pytest.mark.parametrize("late", [False, True], ids=["before", "while it is read"])
def test_each_change_comes_once_for_a_position_whoever_has_committed_it(root, monkeypatch, late):
    history, chance, seen, got = History(root), random.Random(1), [], []
    numbers, feed, position = Counter(), ChangesFeed(root), None

    def commit(step):
        for writer in chance.sample(["0/2", "1/2"], chance.randrange(3)):
            numbers[writer] += 1
            counts = chance.random() < 0.7
            url = f"{SITES[0]}{step}-{writer}"
            change = {"url": url, "kind": "added", "sitemap": "s"}
            history.visit(SITES[0], step, {}, (), [change], writer, numbers[writer], counts=counts)
            seen.extend([url] * counts)

    def connection(self, *tables, **how):
        database = connected(self, *tables, **how)
        commit(step)
        return database

    connected = OpenDataset.connection
    for step in range(8):
        if late:
            monkeypatch.setattr(OpenDataset, "connection", connection)
        else:
            commit(step)
        told = len(seen)
        found, position = feed.read(position)
        got += found.read_all().column("url").to_pylist()
        assert sorted(got) == sorted(seen[:told])
    monkeypatch.undo()
    found, position = feed.read()
    assert sorted(found.read_all().column("url").to_pylist()) == sorted(seen)
    assert feed.read(position)[0].read_all().num_rows == 0
    with pytest.raises(DatasetError, match="another dataset"):
        feed.read(position + 1)


def test_changes_are_shown_in_every_format(known, root, run_usp, tmp_path):
    b = SITES[1]
    ended = run_usp("changes", root)
    assert ended.lines == [f"2025-05-01T02:00:00Z + {b}{n}  <{n}>" for n in "34"]
    assert "--from" in ended.err
    first = json.loads(run_usp("changes", root, "-f", "jsonl").lines[0])
    assert (first["kind"], first["url"], first["title"]) == ("added", f"{b}3", "<3>")
    assert run_usp("changes", root, "-f", "csv").lines[0].startswith("seen_at,kind,url,title")
    file = tmp_path / "new.parquet"
    assert run_usp("changes", root, "-o", file).status == 0
    assert pl.read_parquet(file)["url"].to_list() == [f"{b}3", f"{b}4"]
    feed = tmp_path / "new.atom"
    run_usp("changes", root, "-f", "atom", "-o", feed)
    assert [page.url for page in usp.sitemap_from_file(feed).all_pages()] == [f"{b}4", f"{b}3"]
    state = tmp_path / "position"
    counts = [len(run_usp("changes", root, "--position", state).lines) for _ in range(2)]
    assert counts == [2, 0]
    number, of = state.read_text().split()
    for text, status in ((f"{number}\n", 0), (f"{number} {of}x\n", 2), ("x\n", 2)):
        state.write_text(text)  # of an earlier version, of another dataset, of something else
        assert run_usp("changes", root, "--position", state).status == status
        assert state.read_text() == text
    for site, is_told in (("b.example", False), ("none.example", True)):
        ended = run_usp("changes", root, "--site", site)
        assert (ended.status, "has no site 'none.example'" in ended.err) == (0, is_told)
    for wrong in (["--only", "new"], ["--since", "x"], ["-f", "parquet"], ["--from", "99"]):
        assert run_usp("changes", root, *wrong).status in (1, 2)
    for only, count in (("added", 2), ("changed,removed", 0), ("moved,added", 2)):
        assert len(run_usp("changes", root, "--only", only).lines) == count
    assert run_usp("changes", root, "--since", "1h", "--only", "added").lines == []


def test_a_dataset_is_an_input_of_every_command_now_and_at_a_time(known, root, run_usp):
    a, b = SITES[:2]
    assert {line.strip() for line in run_usp("ls", root).lines} >= {f"{a}1", f"{b}4"}
    ended = run_usp("diff", f"{root}@2025-05-01T01:30", root)
    assert (ended.status, ended.lines) == (1, [f"+ {b}3", f"+ {b}4"])
    assert run_usp("diff", root, root).status == 0
    assert run_usp("ls", f"{root}@soon").status == 2


# Sites to leave alone -------------------------------------------------------------------------------


def test_what_is_forgotten_has_no_rows_and_is_left_alone(known, root, run_usp, monkeypatch):
    a, b = SITES[:2]
    (root / "leave-alone.txt").write_text("# asked us to\nother.example\n\n")
    assert run_usp("forget", root, "https://B.example/tea").status == 0
    assert urls(root) == [f"{a}1", f"{a}2"]
    assert DeltaTable(root / "pages").to_pyarrow_table().column("site").unique().to_pylist() == [a]
    assert (root / "leave-alone.txt").read_text().splitlines()[-1] == "b.example"
    alone = LeaveAlone(Dataset(root).store).refresh()
    assert alone.covers(b)
    assert alone.covers(SITES[2])
    assert not any(map(alone.covers, (a, "https://xb.example/")))
    assert forget(open_dataset(root)) == {"listed": 2, "deleted": 0, "wrong": []}
    assert run_usp("forget", root, "a b").status == 2
    (root / "leave-alone.txt").write_text("*.other.example\nb.example\n")
    assert forget(open_dataset(root)) == {"listed": 1, "deleted": 0, "wrong": ["*.other.example"]}
    assert "leave-alone.txt: '*.other.example' names no host" in run_usp("forget", root).err
    monkeypatch.setattr(FileStore, "reading", Mock(side_effect=DatasetError("no response")))
    with pytest.raises(DatasetError, match="no response"):
        forget(open_dataset(root), ["c.example"])
    assert (root / "leave-alone.txt").read_text() == "*.other.example\nb.example\n"


# Datasets of an earlier version ---------------------------------------------------------------------


def test_a_dataset_of_an_earlier_version_is_taken_over_once(tmp_path, root, run_usp):
    old, (a, b, _) = tmp_path / "old", SITES
    site_rows = [
        {"site": a, "outcome": "complete", "started": BEGIN, "run": 1, "pages": 2},
        {"site": b, "outcome": "failed", "started": BEGIN, "run": 1, "code": "no-such-host"},
    ]
    sitemap = {"site": a, "url": f"{a}map.xml", "type": "urlset", "depth": 1, "status": 200}
    sitemap |= {"failure": None, "pages": 2, "etag": '"1"'}
    broken = sitemap | {"url": f"{a}no.xml", "failure": "503", "pages": None, "status": 503}
    pages = [{"site": a, "sitemap": f"{a}map.xml", "url": f"{a}{n}"} for n in "12"]
    tables = {"sites": site_rows, "sitemaps": [sitemap, sitemap, broken], "pages": pages}
    for name, rows in tables.items():
        write_deltalake(old / name, pa.Table.from_pylist(rows))
    assert run_usp("convert", old, "-o", root).status == 0
    assert take_over(old, root) == {"pages": 0, "fetches": 0, "visits": 0}
    assert urls(root) == [f"{a}1", f"{a}2"]
    rows = open_dataset(root).sitemaps().read_all().to_pylist()
    good = {row["sitemap"]: row["good"] for row in rows}
    assert good == {f"{a}map.xml": True, f"{a}no.xml": False}
    assert open_dataset(root).sites().read_all().num_rows == 2
    assert run_usp("convert", root, "-o", tmp_path / "x").status == 2
    with KnownSites(Dataset(root), Shard()) as known:  # all are older than the first run
        assert len(list(known.known("coalesce(run, 0) < 1"))) == 2
    Dataset(root).begin_run()
    with pytest.raises(DatasetError, match="choose a new dataset"):
        take_over(old, root)


# OpenMetrics ----------------------------------------------------------------------------------------


def test_the_counts_of_a_run_are_in_a_file_or_at_a_port(tmp_path):
    progress, file = FleetProgress(), tmp_path / "usp.prom"
    progress.outcomes["complete"], progress.statuses["304"], progress.delays[2] = 3, 7, 1
    progress.lag = 1_234_567.0
    text = openmetrics(progress)
    assert "usp_due_lag_seconds 1234567.0\n" in text
    assert 'usp_sites_total{outcome="complete"} 3\n' in text
    assert 'usp_requests_total{status="304"} 7\n' in text
    assert 'usp_freshness_seconds_bucket{le="+Inf"} 1\n' in text
    assert "usp_freshness_seconds_count 1\n" in text
    assert text.endswith("# EOF\n")
    with exporting(file, lambda: progress):
        pass
    assert file.read_text() == text
    with (
        exporting(("127.0.0.1", 0), lambda: progress) as port,
        urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer,
    ):
        assert answer.read().decode() == text
        assert answer.headers["Content-Type"].startswith("application/openmetrics-text")
        with (
            pytest.raises(OSError, match=f"cannot serve metrics at 127.0.0.1:{port}: "),
            exporting(("127.0.0.1", port or 0), lambda: progress),
        ):
            pass
    assert read_target(":9100") == ("127.0.0.1", 9100)
    assert read_target("[::1]:9100") == ("::1", 9100)
    assert read_target("run.prom") == Path("run.prom")
    with pytest.raises(ValueError, match="not a port"):
        read_target(":0")
