"""Lists of sites, in whatever form people have them."""

from __future__ import annotations

import io
import os
import threading

import pyarrow as pa
import pytest
from pyarrow import parquet

from usp.fleet.groups import address_of, by_address, grouped, host_key, parcels
from usp.fleet.sites import SiteListError, homepage, read_sites


@pytest.mark.parametrize(
    ("text", "site"),
    [
        ("example.org", "https://example.org/"),
        (" HTTP://Example.org:80/a/b?c ", "http://example.org/"),
        ("https://example.org:443", "https://example.org/"),
        ("example.org:8080", "https://example.org:8080/"),
        ("http://[::1]:99/x", "http://[::1]:99/"),
        ("ftp://example.org/", "ftp://example.org/"),
        ("two words", "two words"),
        ("", ""),
    ],
)
def test_a_site_is_the_address_of_its_homepage(text, site):
    assert homepage(text) == site


def test_a_list_of_lines_may_have_comments_and_repetitions(tmp_path):
    path = tmp_path / "sites.txt"
    path.write_text("# ours\nexample.org\n\n  https://example.org/x\nexample.com\n")
    assert list(read_sites(str(path))) == ["https://example.org/", "https://example.com/"]


@pytest.mark.parametrize("column", ["site", "url", "host", "Domain"])
def test_tables_have_a_column_of_sites(tmp_path, column):
    csv, table = tmp_path / "sites.csv", tmp_path / "sites.parquet"
    csv.write_text(f"rank,{column}\n1,example.org\n2,\n3,example.com\n4\n")
    parquet.write_table(pa.table({"rank": [1, 2], column: ["example.org", "example.com"]}), table)
    for path in (csv, table):
        assert list(read_sites(str(path))) == ["https://example.org/", "https://example.com/"]


def test_the_standard_input_is_a_list(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("example.org\n"))
    assert list(read_sites("-")) == ["https://example.org/"]


def test_a_list_that_cannot_be_read_is_told_what_to_do(tmp_path):
    with pytest.raises(SiteListError, match="give a list of sites"):
        list(read_sites(str(tmp_path / "none.txt")))
    (tmp_path / "sites.csv").write_text("name,rank\n")
    with pytest.raises(SiteListError, match="no column is named site, url, host or domain"):
        list(read_sites(str(tmp_path / "sites.csv")))


def test_sites_of_one_host_are_one_group_and_the_largest_comes_first():
    keyed = [(s, host_key(s)) for s in ("http://a/", "http://b/", "https://www.b:8/", "no site")]
    assert grouped(keyed) == [
        ("b", ["http://b/", "https://www.b:8/"]),
        ("a", ["http://a/"]),
        ("no site", ["no site"]),
    ]


def test_a_group_is_never_divided():
    groups = [("a", ["1", "2", "3"]), ("b", ["4"]), ("c", ["5"])]
    assert list(parcels(groups, 2)) == [
        [("1", "a"), ("2", "a"), ("3", "a")],
        [("4", "b"), ("5", "c")],
    ]


def test_sites_at_one_address_are_found_by_looking_them_up():
    addresses = {"a": "192.0.2.1", "b": "192.0.2.1"}
    urls = [f"http://{host}/" for host in "abc"] * 700
    keyed = list(by_address(urls, lambda host: addresses.get(host, host)))
    assert [site for site, _ in keyed] == urls
    assert {key for _, key in keyed} == {"192.0.2.1", "c"}


def test_a_host_without_an_address_stays_by_itself():
    assert address_of("127.0.0.1") == "127.0.0.1"
    assert address_of("no.such.host.invalid") == "no.such.host.invalid"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes that have a name")
def test_a_list_may_come_through_a_pipe(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=("a.example\nb.example\n",))
    writer.start()
    assert list(read_sites(str(pipe))) == ["https://a.example/", "https://b.example/"]
    writer.join()
    with pytest.raises(SiteListError):
        list(read_sites(str(tmp_path)))
