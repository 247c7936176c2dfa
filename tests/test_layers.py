"""Imports point down only: the layers of the design, read from the source."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import usp

ROOT = Path(usp.__file__).parent

LAYERS = [  # from the top down; a module may import what stands below it, or beside it
    ["cli", "_demo", "__main__"],
    ["export", "report", "graph", "check", "fleet"],
    ["tree", "aio", "stream", "fetch_parse", "_compat"],
    ["_crawl"],
    ["web_client", "_http", "_store"],
    ["_formats"],
    ["selection"],
    ["objects"],
    [
        "_base",
        "_compat.names",
        "_compat.other_distribution",
        "helpers",
        "exceptions",
        "limits",
        "events",
        "options",
        "web_client.abstract_client",
        "",
    ],
]

DEFERRED = {  # imports inside functions, and why they may point up or wait
    (
        "helpers",
        "_crawl.retry",
    ): "get_url_retry_on_client_errors: the crawl knows when to ask again",
    ("helpers", "_crawl.run"): "the same",
    ("helpers", "_formats.unpack"): "gunzip: a name that programs know for what formats does",
    ("helpers", "_formats.decode"): "ungzipped_response_content: the same",
    ("objects.sitemap", "export.arrow"): "to_arrow and the Arrow stream: pyarrow is an extra",
    ("objects.sitemap", "selection"): "select: filters of pages",
    ("objects.sitemap", "report.notebook"): "_repr_html_: only notebooks ask for it",
    ("helpers", "limits"): "ungzipped_response_content: how much is unpacked",
    (
        "aio",
        "web_client.aiohttp_client",
    ): "aiohttp is an extra: only who hands in no client needs it",
}

MODULES = sorted(ROOT.rglob("*.py"))


def name_of(path: Path) -> str:
    """Give a module's name without ``usp``; the package itself is the empty name."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def rank(module: str) -> int:
    """Give how low a module stands: the longest name in the table that it begins with counts."""
    ranks = {
        name: at
        for at, names in enumerate(LAYERS)
        for name in names
        if module == name or (name and module.startswith(f"{name}."))
    }
    assert ranks, f"{module} belongs to no layer: add it to the design and to this table"
    return ranks[max(ranks, key=len)]


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)


def imported(node: ast.AST, module: str, path: Path) -> Iterator[str]:
    """Give the modules of ours that an import statement loads."""
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        assert node.level == 0, f"{module}: relative import"
        names = [
            f"{node.module}.{alias.name}"
            if is_module(f"{node.module}.{alias.name}")
            else node.module
            for alias in node.names
        ]
    else:
        return
    for name in names:
        if name == "usp" or (name or "").startswith("usp."):
            yield name.removeprefix("usp").removeprefix(".")


def is_module(name: str) -> bool:
    path = ROOT.parent.joinpath(*name.split("."))
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


def imports(path: Path) -> Iterator[tuple[str, bool]]:
    """Give what a module imports, and whether it does so only when a function is called."""
    module = name_of(path)

    def visit(node: ast.AST, *, deferred: bool) -> Iterator[tuple[str, bool]]:
        for child in ast.iter_child_nodes(node):
            if is_type_checking(child):
                continue  # names for the type checker are not loaded
            yield from ((name, deferred) for name in imported(child, module, path))
            inside = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from visit(child, deferred=deferred or inside)

    yield from visit(ast.parse(path.read_text(encoding="utf-8")), deferred=False)


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_module_imports_only_what_stands_below_it_or_beside_it(path):
    module = name_of(path)
    for name, deferred in imports(path):
        if deferred and (module, name) in DEFERRED:
            continue
        assert rank(name) >= rank(module), f"{module} imports {name}, which stands above it"


def test_every_deferred_import_is_on_the_list_and_every_one_on_the_list_exists():
    """The command line may load what it needs when a command runs: it is the top layer."""
    found = {
        (name_of(path), name)
        for path in MODULES
        for name, deferred in imports(path)
        if deferred and rank(name_of(path)) > 0
    }
    assert found == set(DEFERRED)


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_parsing_and_deciding_know_no_sockets_files_or_clocks(path):
    """Formats and objects do no I/O at all; of the crawl only its drivers do."""
    module = name_of(path)
    pure = module.startswith(("_formats", "objects")) or module in {
        "_crawl.crawl", "_crawl.queue", "_crawl.choice", "_crawl.build", "_crawl.values",
        "_crawl.retry", "_crawl.places", "_crawl.look", "_crawl.website", "_crawl.pages",
    }  # fmt: skip
    if not pure:
        return
    forbidden = {"socket", "time", "tempfile", "requests", "urllib3", "asyncio", "os"}
    if module.startswith("_crawl"):
        forbidden.add("threading")  # a parser may have to lock a table that threads share
    loaded = {
        alias.name.split(".")[0]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Import)
        for alias in node.names
    } | {
        (node.module or "").split(".")[0]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom)
    }
    assert not loaded & forbidden


def test_the_library_does_not_load_the_command_lines_dependencies():
    for path in MODULES:
        if rank(name_of(path)) == 0:
            continue
        text = path.read_text(encoding="utf-8")
        for name in ("click", "rich", "rich_click"):
            assert f"import {name}" not in text
            assert f"from {name}" not in text
