"""Many sites under way in one worker: polite to each host, fair to each site, in little memory."""

import asyncio
import contextlib
import gc
import itertools
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import timedelta
from unittest.mock import Mock

import pyarrow as pa
import pytest
from fleet_sites import Answer, Loopback
from fleet_support import OPTIONS, ZONES, rows_in, wide_rows

from usp.events import SitemapFailed
from usp.fleet import FleetOptions, FleetRun
from usp.fleet.crawler import HostTurns, Job, crawl_parts, crawl_tables
from usp.limits import Limits
from usp.web_client.zones import Zones
from website import index, robots, urlset


class Web(Loopback):
    """Websites at any address of loopback, in a thread of this process."""

    def url(self, address: str, path: str = "/") -> str:
        return f"http://{address}:{self.port}{path}"

    def serve(self, address: str, path: str, body: str) -> None:
        self.answers[address][path] = Answer(body.encode())

    def urlset(self, address: str, path: str, pages: int) -> None:
        self.serve(address, path, urlset(*(self.url(address, f"/{n}") for n in range(pages))))


@pytest.fixture
def web() -> Iterator[Web]:
    made, loop = Web(0.01), asyncio.new_event_loop()
    server = loop.run_until_complete(made.start())
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    yield made

    async def end() -> None:
        server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    asyncio.run_coroutine_threadsafe(end(), loop).result()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def outcomes(urls: list[str], options: FleetOptions = OPTIONS) -> dict[str, dict[str, object]]:
    return {row["site"]: row for row in rows_in(wide_rows(urls, options), "visits")}


def test_sites_of_one_host_follow_each_other(web):
    """They differ by scheme and port only, and that makes no other host."""
    other = f"http://127.0.5.1:{web.port + 1}/"
    options = FleetOptions(zones=ZONES, timeout=(0.2, 9.0))  # nobody speaks TLS there
    rows = outcomes([web.url("127.0.5.1"), other, f"https://127.0.5.1:{web.port}/"], options)
    assert len(rows) == 3
    begun = sorted((row["started"], row["duration"]) for row in rows.values())
    for (one, seconds), (two, _) in itertools.pairwise(begun):
        assert (two - one).total_seconds() >= seconds - 0.01


def test_a_host_that_many_sites_name_is_asked_by_few_at_a_time(web):
    """Thirty sites keep their sitemaps at one storage host."""
    store = "127.0.9.9"
    urls = []
    for number in range(30):
        address = f"127.0.6.{number + 1}"
        web.urlset(store, f"/{number}.xml", 3)
        sitemap = web.url(store, f"/{number}.xml")
        web.serve(address, "/robots.txt", f"Sitemap: {sitemap}\n")
        urls.append(web.url(address))
    rows = outcomes(urls, FleetOptions(zones=ZONES, per_host=4))
    assert all((row["outcome"], row["pages"]) == ("complete", 3) for row in rows.values())
    assert 1 < web.most[store] <= 4
    assert max(count for host, count in web.most.items() if host != store) <= 4


def test_sites_that_wait_are_under_way_together(web):
    web.latency = 0.2
    urls = [web.url(f"127.0.7.{number + 1}") for number in range(40)]
    rows = outcomes(urls)
    assert len(rows) == 40
    began = sorted(row["started"] for row in rows.values())
    ended = min(row["started"] + timedelta(seconds=row["duration"]) for row in rows.values())
    assert sum(start < ended for start in began) > 20  # had begun before the first was done


@pytest.mark.parametrize("grace", [30.0, -0.2], ids=["by itself", "by force"])
def test_a_site_that_takes_too_long_is_given_up(web, monkeypatch, grace):
    monkeypatch.setattr("usp.fleet.site.GRACE", grace)
    web.latency = 1.5
    web.serve("127.0.10.1", "/robots.txt", "")
    options = FleetOptions(zones=ZONES, limits=Limits(seconds=0.3))
    (row,) = outcomes([web.url("127.0.10.1")], options).values()
    assert (row["outcome"], row["pages"]) == ("failed", 0)
    assert "the limit seconds=0.3 is reached" in row["reason"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("batches_of", "the pages could not be read: OSError"),
        ("sitemap_tree_for_homepage", "OSError"),
    ],
)
def test_what_should_not_happen_to_a_site_is_its_reason(web, monkeypatch, name, said):
    monkeypatch.setattr(f"usp.fleet.site.{name}", Mock(side_effect=OSError("the disk is gone")))
    web.urlset("127.0.10.3", "/sitemap.xml", 5)
    (row,) = outcomes([web.url("127.0.10.3")]).values()
    assert row["outcome"] == "failed"
    assert row["reason"].startswith(said)


def test_problems_are_counted_if_they_are_wanted(web):
    entry = f"<url><loc>{web.url('127.0.12.1', '/a')}</loc><lastmod>someday</lastmod></url>"
    web.serve("127.0.12.1", "/sitemap.xml", urlset(entry))
    for wanted, count in ((True, 1), (False, None)):
        options = FleetOptions(zones=ZONES, problems=wanted)
        (row,) = rows_in(wide_rows([web.url("127.0.12.1")], options), "fetches")
        assert row["problems"] == count


def test_what_goes_wrong_with_the_sites_is_told_to_whoever_reads():
    def sites() -> Iterator[list[tuple[str, str]]]:
        yield []
        raise RuntimeError("the list is torn")

    with pytest.raises(RuntimeError, match="torn"):
        list(crawl_tables(sites(), Job(FleetRun(options=OPTIONS))))


def test_whoever_waits_for_a_host_and_leaves_takes_no_turn():
    async def main() -> list[int]:
        turns = HostTurns(1)
        order = []

        async def visit(number: int) -> None:
            room = await turns.enter("h")
            order.append(number)
            await asyncio.sleep(0.01)
            room.release()

        tasks = [asyncio.create_task(visit(number)) for number in range(4)]
        await asyncio.sleep(0)
        tasks[1].cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(*tasks)
        await asyncio.gather(*tasks, return_exceptions=True)
        assert not turns._rooms
        return order

    assert asyncio.run(main()) == [0, 2, 3]


def test_a_worker_leaves_the_process_as_it_was(tmp_path):
    """While it works, memory is that of the system, which all threads share."""
    job = Job(FleetRun(), str(tmp_path), 1)
    before = pa.default_memory_pool().backend_name, gc.get_threshold()
    during = []

    def batches():
        during.append((pa.default_memory_pool().backend_name, gc.get_threshold()))
        yield from ()

    assert list(crawl_parts(job, batches())) == []
    assert during[0][0] == "system"
    assert (pa.default_memory_pool().backend_name, gc.get_threshold()) == before
    assert during[0][1] > before[1]


# Options hold for every site: checked at once, told to the sites, and shown to nobody -------------


COUNTS = ("sites_per_worker", "per_host", "sites_per_host")
REFUSED = [
    ({"timeout": 0}, "timeout must be a positive number"),
    ({"timeout": "5"}, "timeout must be a positive number"),
    ({"timeout": (1, 2, 3)}, "timeout must be a positive number"),
    ({"zones": "10.0.0.0/8"}, "zones must be usp.Zones"),
    ({"user_agent": 5}, "user_agent must be a string or None"),
    ({"proxy": 5}, "proxy must be a string or None"),
    ({"headers": {"X-Key": 5}}, "'X-Key' must be a string"),
    *(({name: 0}, f"{name} must be a positive integer") for name in COUNTS),
]
RUNS = [
    ({"again": True, "retry_failed": True}, "choose one of them"),
    ({"accept": True}, "add 'again', 'retry_failed' or 'due'"),
    ({"engine": "steam"}, "unknown engine 'steam'; choose from local, ray"),
    ({"address": "auto"}, "set 'engine' to ray"),
]


def test_an_option_that_cannot_be_meant_is_refused_before_anything_is_fetched():
    for kind, table in ((FleetOptions, REFUSED), (FleetRun, RUNS)):
        for options, error in table:
            with pytest.raises((TypeError, ValueError), match=error):
                kind(**options)


def test_headers_are_sent_to_every_site_and_to_workers_and_shown_to_nobody(serve):
    site = serve({"/robots.txt": robots("/a.xml"), "/a.xml": urlset("/p")})
    options = FleetOptions(zones=ZONES, headers={"X-Key": "s3cret-key"}, use_known_paths=False)
    batches = wide_rows([site.url("/")], options)
    assert {request.headers.get("X-Key") for request in site.requests} == {"s3cret-key"}
    assert "s3cret-key" not in repr([batch.to_pylist() for batch in batches])
    secret = FleetOptions(headers={"X-Key": "s3cret-key"}, proxy="http://me:pass@proxy:1")
    copy = pickle.loads(pickle.dumps(secret))
    assert (copy.headers, copy.proxy) == (secret.headers, secret.proxy)
    assert "s3cret-key" not in repr(secret)
    assert "pass" not in repr(secret)


def test_all_requests_go_to_the_proxy(serve):
    proxy = serve({})
    options = FleetOptions(zones=Zones(allow=("any",)), proxy=proxy.base)
    wide_rows(["http://example.invalid/"], options)
    assert proxy.requests


def test_sites_are_crawled_with_the_options_of_a_crawl(serve):
    site = serve(
        {
            "/robots.txt": robots("/i.xml"),
            "/i.xml": index("/a.xml", "/b.xml", "/gone.xml"),
            "/a.xml": urlset("/a"),
            "/b.xml": urlset("/b"),
            "/sitemap.xml": urlset("/known"),
            "/extra.xml": urlset("/extra"),
        }
    )
    events, failures = [], []
    options = FleetOptions(
        zones=ZONES,
        limits=Limits(seconds=60),
        use_known_paths=False,
        extra_known_paths=["extra.xml"],
        recurse_callback=lambda url, *_: "b.xml" not in url,
        on_event=events.append,
        on_failure=failures.append,
    )
    batches = wide_rows([site.url("/")], options)
    assert [row["url"] for row in rows_in(batches, "pages")] == [site.url("/a"), site.url("/extra")]
    assert site.hits["/sitemap.xml"] == site.hits["/b.xml"] == 0
    (failed,) = [event for event in events if isinstance(event, SitemapFailed)]
    assert failed.url == site.url("/gone.xml")
    assert [failure.url for failure in failures] == [failed.url]
    (row,) = rows_in(batches, "visits")
    assert row["outcome"] == "partial"
    assert row["requests"] == sum(site.hits.values())


# Workers load what they need ----------------------------------------------------------------------


_WORKER = """
import sys
import usp.fleet.engines, usp.fleet.site
from usp.fleet.crawler import Job
from usp.fleet.options import FleetRun
writer = Job(FleetRun(), sys.argv[1], 1).part_writer()
row = {"site": "https://example.org/", "domain": "example.org", "outcome": "empty"}
writer.add("visits", [row])
(group,) = writer.finish()
assert len(group.files) == 1
print(*sorted(name for name in ("deltalake", "duckdb", "ray", "rich_click") if name in sys.modules))
"""


_THREADS = """
import sys
from usp.fleet.crawler import load_for_threads
load_for_threads()
before = set(sys.modules)
from usp._base.files import FileStore
FileStore(sys.argv[1]).files()
import deltalake.exceptions, deltalake.fs, deltalake.transaction, pyarrow.compute, pyarrow.parquet
print(*sorted(name for name in sys.modules if name not in before and not name.startswith("usp.")))
"""


@pytest.mark.parametrize("code", [_WORKER, _THREADS], ids=["deltalake", "threads"])
def test_a_worker_in_a_folder_does_without_deltalake_and_its_threads_load_nothing(tmp_path, code):
    """What they load at the same time may be half there."""
    command = [sys.executable, "-c", code, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "\n"
    assert code is not _WORKER or list(tmp_path.glob("visits/bucket=*/*.parquet"))


_ARRAYS = """
import sys
from usp.export.schema import pyarrow, skip_pandas_import
skip_pandas_import()
assert pyarrow().array(["a", "b"]).to_pylist() == ["a", "b"]
assert "pandas" not in sys.modules
assert pyarrow().table({"n": [1, 2]}).to_pandas()["n"].sum() == 3
"""


def test_a_worker_does_without_pandas_and_its_callbacks_may_use_it():
    pytest.importorskip("pandas")
    subprocess.run([sys.executable, "-c", _ARRAYS], check=True)
