"""Three nodes that share nothing but an S3 server: one of them dies, and nothing is missing."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path

import pytest
from fleet_processes import wait_for
from fleet_stores import BUCKET
from fleet_support import check_truth, serving, start

from usp.fleet.dataset import Dataset

cluster_utils = pytest.importorskip("ray.cluster_utils")

pytestmark = [
    pytest.mark.proof,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc"),
]


@pytest.fixture(scope="module")
def websites():
    yield from serving(60, 0.25)


@pytest.fixture
def cluster():
    """A node that only the driver uses, and two that work, each with its own temporary folder."""
    started = cluster_utils.Cluster()
    with ExitStack() as stack:
        stack.callback(started.shutdown)
        for cpus in (0, 1, 1):
            folder = tempfile.mkdtemp(prefix="n")  # short: it is part of the names of sockets
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
            started.add_node(num_cpus=cpus, object_store_memory=80 << 20, temp_dir=folder)
        started.wait_for_nodes()
        yield started


def test_a_node_dies_in_the_middle(cluster, s3_server, websites, tmp_path, monkeypatch):
    for name, value in s3_server.environment.items():
        assert name not in os.environ  # what the nodes know of the server, the driver has told them
        monkeypatch.setenv(name, value)
    root, sites = f"s3://{BUCKET}/cluster", tmp_path / "sites.txt"
    sites.write_text("\n".join(websites.urls))
    options = ("--address", cluster.address, "--in-flight", "4", "--commit-seconds", "0.2")
    driver = start(root, sites, "ray", *options)
    try:
        wait_for(lambda: driver.poll() is not None or done(root))
        assert driver.poll() is None, driver.communicate()[1].decode()
        cluster.remove_node(cluster.list_all_nodes()[-1], allow_graceful=False)
        _, told = driver.communicate(timeout=300)
    finally:
        driver.kill()
    assert driver.returncode == 0, told.decode()
    check_truth(root, websites.sites)


def done(root: str) -> int:
    dataset = Dataset(root)
    return len(dataset.sites()) if dataset.exists() else 0
