"""What the tests of the fleet share: the websites, the command, and the truth."""

import errno
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner, Result
from fleet_sites import FleetSite, fleet_of

from usp._base.files import StoredFile
from usp.cli import main
from usp.fleet import FleetOptions, FleetRun, crawl_fleet, crawl_sites, engines, unwrap
from usp.fleet.current import OpenDataset
from usp.fleet.dataset import Dataset
from usp.fleet.site_list import Assignments, WaitingSite
from usp.web_client.zones import Zones

HERE = Path(__file__).parent
COUNT = int(os.environ.get("USP_FLEET_SITES", "120"))  # has sites of every kind
SLOW = 60
ZONES = Zones(allow=("127.0.0.0/8",), trust_start=False)
OPTIONS = FleetOptions(zones=ZONES)


@dataclass(frozen=True)
class Served:
    port: int
    sites: list[FleetSite]

    @property
    def urls(self) -> list[str]:
        return [site.url for site in self.sites]


def serving(count: int, latency: float = 0.0) -> Iterator[Served]:
    command = [sys.executable, str(HERE / "fleet_sites.py"), str(count), str(latency)]
    env = os.environ | {"PYTHONPATH": str(HERE.parent)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as server:
        try:
            assert server.stdout
            port = int(server.stdout.readline())
            yield Served(port, fleet_of(count, port))
        finally:
            server.kill()


ALLOWED = ("--allow-network", "127.0.0.0/8", "--workers", "1")
COMMAND = "from usp.cli.commands.cmd_crawl import command; command()"


def start(
    root: Path | str, urls: list[str], engine: str, *more: str, stderr: int = subprocess.PIPE
) -> subprocess.Popen[bytes]:
    """Start ``usp crawl`` in a process of its own."""
    options = ["--engine", engine, "--workers", "2", "--allow-network", "127.0.0.0/8", *more]
    command = [sys.executable, "-m", "usp.cli", "crawl", "-", "-o", str(root), *options]
    with tempfile.TemporaryFile() as sites:
        sites.write("\n".join(urls).encode())
        sites.seek(0)
        return subprocess.Popen(command, stdin=sites, stderr=stderr)


def crawl(root: Path | str, urls: list[str], engine: str, *more: str) -> str:
    """Run ``usp crawl`` to its end; give what it told."""
    with start(root, urls, engine, *more) as process:
        _, told = process.communicate(timeout=600)
    assert process.returncode == 0, told.decode()
    return told.decode()


def crawled(
    web: list[Any], root: Path, options: FleetOptions = OPTIONS, *heard: Any, **how: Any
) -> Any:
    """Crawl websites of a test in one worker; give the summary."""
    options = replace(options, use_known_paths=False, sites_per_host=9)
    run = FleetRun(workers=1, options=options, **how)
    return crawl_fleet([site.base for site in web], root, run, *heard)


def wide_rows(urls: list[str], options: FleetOptions = OPTIONS) -> list[Any]:
    """Crawl sites by the job of a worker, without a dataset; give what it yields."""
    return list(crawl_sites([pa.table({"site": urls})], options))


def rows_in(batches: list[Any], table: str) -> list[dict[str, Any]]:
    """Give the rows of one table in what the job has yielded."""
    return [row for batch in unwrap(batches, table) for row in batch.to_pylist()]


def handed_out(*sites: tuple[str, str], **how: Any) -> Assignments:
    """Give sites, with their keys, that have all come."""
    left = Assignments((WaitingSite(*one) for one in sites), **how)
    while left.total is None:
        left.look()
    return left


def invoke(command: Any, *arguments: object, stdin: str | None = None) -> Result:
    """Run a command in this process."""
    return CliRunner().invoke(command, [str(one) for one in arguments], input=stdin)


def ended(capsys: Any, *arguments: object) -> tuple[object, str]:
    """Run ``usp`` in this process; give its status, and the errors that it told."""
    with pytest.raises(SystemExit) as status:
        main([str(one) for one in arguments])
    told = capsys.readouterr().err
    assert "Traceback" not in told
    return status.value.code, told


OF_A_VISIT = {
    "visit",
    "duration",
    "started",
    "fetched_at",
    "changed_at",
    "due",
    "interval",
    "failures",
}
CHANGING = {
    "sites": OF_A_VISIT | {"requests", "run"},
    "sitemaps": OF_A_VISIT | {"pages_visit", "first_seen"},
    "pages": {"first_seen", "last_seen"},
}


def rows_of(root: Path | str, view: str) -> list[dict[str, Any]]:
    """Read what a dataset has now: its pages, sitemaps or sites."""
    rows: list[dict[str, Any]] = getattr(OpenDataset(root), view)().read_all().to_pylist()
    return rows


def tables_of(root: Path, more: Mapping[str, set[str]] | None = None) -> dict[str, list[str]]:
    """Read all of it; rows are sorted, some columns left out."""
    found = {}
    for view, changing in CHANGING.items():
        left_out = changing | (more or {}).get(view, set())
        found[view] = sorted(
            repr(sorted((name, repr(row[name])) for name in row.keys() - left_out))
            for row in rows_of(root, view)
        )
    return found


def outcomes_of(root: Path | str) -> dict[str, str]:
    """Give the outcome of every site that a dataset has."""
    return {row["site"]: row["outcome"] for row in rows_of(root, "sites")}


def stored(root: Path | str, table: str) -> list[dict[str, Any]]:
    """Read all rows that a table has, whether they count or not."""
    rows: list[dict[str, Any]] = (
        Dataset(root).query(f"select * from {table}", table).read_all().to_pylist()
    )
    return rows


def check_truth(root: Path | str, sites: list[FleetSite]) -> None:
    """Compare what a dataset has now with what its websites serve."""
    rows: dict[str, dict[str, Any]] = {}
    for row in rows_of(root, "sites"):
        assert row["site"] not in rows, f"{row['site']} stands twice"
        rows[row["site"]] = row
    assert rows.keys() == {site.url for site in sites}
    for site in sites:
        row = rows[site.url]
        told = (row["outcome"], row["pages"], row["sitemaps"])
        assert told == (site.outcome, len(site.pages), len(site.sitemaps)), (site.kind, row)
        assert (site.reason or "") in (row["reason"] or ""), (site.kind, row)
        assert (row["reason"] is None) == (site.reason is None), (site.kind, row)
    pages = rows_of(root, "pages")
    assert sorted((p["site"], p["sitemap"], p["url"]) for p in pages) == sorted(
        (site.url, sitemap, url) for site in sites for sitemap, url in site.pages
    )
    sitemaps = rows_of(root, "sitemaps")
    assert sorted(
        (s["site"], s["sitemap"], s["type"], str(s["pages"])) for s in sitemaps
    ) == sorted(
        (site.url, url, kind, str(count)) for site in sites for url, kind, count in site.sitemaps
    )


def on_loopback(code: str, url: str) -> str:
    """Give an example of the documents for this website instead, on a network that is allowed."""
    code = code.replace("https://example.org/", url).replace("example.com", "http://127.0.0.1:9/")
    zones = "__import__('usp.web_client.zones').web_client.zones." + repr(ZONES)
    return code.replace("FleetOptions(", f"FleetOptions(zones={zones}, ").replace(", )", ")")


# The processes of a run, found in /proc -----------------------------------------------------------


def parents() -> dict[int, tuple[int, str]]:
    """Give the parent and the command line of every process."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
            found[int(entry.name)] = (int(stat.rpartition(")")[2].split()[1]), line)
    return found


def below(pid: int) -> dict[int, str]:
    """Give the processes that a process has started, and those that they have, and so on."""
    known = parents()
    found = {pid: ""}
    while more := {p: line for p, (of, line) in known.items() if of in found and p not in found}:
        found |= more
    del found[pid]
    return found


def is_alive(pid: int, line: str) -> bool:
    """Tell whether a process is still the one that it was; one that has only ended counts as gone."""
    known = parents().get(pid)
    return known is not None and known[1] == line


def is_worker(engine: str, line: str) -> bool:
    if engine == "ray":
        return line.startswith("ray::") and "IDLE" not in line and "_crawl" in line
    return "spawn_main" in line


def wait_for(condition, seconds=180.0):
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.02)
    return value


POISON = "poison"


def dies_of_poison(pipe, job):
    """Work as a worker does, and die as soon as a site with a certain name is given."""
    batches = engines._Driver.batches

    def tasted(self):
        for batch in batches(self):
            if any(POISON in site.url for site in batch):
                os.kill(os.getpid(), signal.SIGKILL)
            yield batch

    engines._Driver.batches = tasted
    engines.work(pipe, job)


def never_begins(pipe, job):
    os._exit(7)


def has_no_room(pipe, job):
    pipe.send("OSError: [Errno 28] No space left on device")


def on_a_full_disk(table, pipe, job):
    """Work as a worker does, where there is no room for the files of a table."""
    write = StoredFile.write

    def fail(self, data):
        if self._name.startswith(f"{table}/"):
            raise OSError(errno.ENOSPC, "No space left on device")
        write(self, data)

    StoredFile.write = fail
    engines.work(pipe, job)
