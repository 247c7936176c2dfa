"""Lets every site stand in a dataset once: of several commits that name it the latest counts.

That is how the rows of sites that are tried again are replaced. The groups in which they stood are
written anew without them; a commit says which others it stands for, so both change places at once.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from usp.export.schema import pyarrow
from usp.fleet.dataset import Commit, commit_name
from usp.fleet.tables import page_columns
from usp.fleet.writer import commit_files, files_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from usp.fleet.dataset import Dataset


def tidy(dataset: Dataset) -> int:
    """Remove the rows of sites that stand in a later commit too; give how many sites that were."""
    commits = dataset.commits()
    latest: dict[str, str] = {}
    for name in sorted(commits):
        latest.update(dict.fromkeys(commits[name].sites, name))
    removed = 0
    for commit in commits.values():
        kept = {site: out for site, out in commit.sites.items() if latest[site] == commit.name}
        if len(kept) == len(commit.sites):
            continue
        removed += len(commit.sites) - len(kept)
        if kept:
            # Its run's number stays in front: a later commit of these sites would still be later.
            name = commit_name(int(commit.name[:5]), f"tidy{secrets.token_hex(4)}", 0)
            _rewrite(dataset, commit, name, kept)
        dataset.remove(commit)
    return removed


def _rewrite(dataset: Dataset, commit: Commit, name: str, kept: dict[str, str]) -> None:
    """Write the files of a commit once more, with some of its sites only."""
    pa, parquet, compute = pyarrow(), pyarrow(".parquet"), pyarrow(".compute")
    wanted = pa.array(list(kept), pa.string())
    files = files_of(dataset, name, _columns(dataset, commit))
    for path in commit.files:
        table = path.partition("/")[0]
        for batch in parquet.ParquetFile(dataset.root / path).iter_batches():
            sites = batch.column("site").cast(pa.string())
            rows = batch.filter(compute.is_in(sites, value_set=wanted))
            if len(rows):
                files[table].add(rows)
    commit_files(dataset, name, files, kept, (commit.name,))


def _columns(dataset: Dataset, commit: Commit) -> Sequence[str] | None:
    """Give the columns that the pages of a commit have."""
    for path in commit.files:
        if path.startswith("pages/"):
            schema = pyarrow(".parquet").read_schema(dataset.root / path)
            names = tuple(name for name in schema.names if name != "site")
            return None if names == page_columns() else names
    return None
