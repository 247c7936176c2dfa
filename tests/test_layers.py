"""Imports point down only: the layers of the design, read from the source."""

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import usp

ROOT = Path(usp.__file__).parent

LAYERS = [  # from the top down; a module may import what stands below it, or beside it
    ["cli", "mcp", "_demo", "__main__"],
    ["export", "report", "graph", "checks", "changes", "fleet", "contrib"],
    ["tree", "aio", "stream", "fetch_parse", "snapshot", "_inputs", "_content"],
    ["_crawl", "_snapshot"],
    ["web_client", "_http", "_store"],
    ["_formats"],
    ["selection", "matching"],
    ["objects"],
    [
        *("_base", "helpers", "exceptions", "limits", "events", "options", "objects.exchange"),
        *("objects.failure_codes", "web_client.abstract_client", ""),
    ],
]

DEFERRED = {  # imports inside functions, and why they may point up or wait
    "helpers -> _crawl.schedule": "get_url_retry_on_client_errors: the crawl knows when",
    "helpers -> _formats.unpack": "gunzip: a name that programs know for what formats does",
    "helpers -> objects.problem": "gunzip: what the decompressor finds wrong",
    "helpers -> _formats.decode": "ungzipped_response_content: the same",
    "checks.node_findings -> checks.rules": "only a few findings need rules",
    "checks.verdicts -> checks.checking": "verdict: most callers have checked",
    "checks.checking -> checks.fetching": "few pages are fetched, and nothing of a given tree",
    "checks.checking -> checks.ignores": "most checks ignore nothing",
    "checks.context -> checks.fetching": "few folders have built pages",
    "checks.context -> _crawl.receiver": "the same",
    "checks.context -> changes": "few checks compare with an earlier state",
    "checks.rules.sm3_document -> _formats.xml.raw_entries": "rules load no parser",
    "objects.abstract_sitemap -> export.arrow": "to_arrow, the Arrow stream: pyarrow is an extra",
    "objects.abstract_sitemap -> selection": "select: filters of pages",
    "report.problems -> snapshot": "few reports have a history",
    "report.problems -> _snapshot.warc": "the same",
    "objects.abstract_sitemap -> report.notebook": "_repr_html_: only notebooks ask for it",
    "helpers -> limits": "ungzipped_response_content: how much is unpacked",
    "_base.display -> _base.urls": "most text is printable",
    "options -> _base.filters": "the help shows the defaults of options; what is given is read",
    "fleet.options -> web_client.zones": "the help of usp crawl shows the defaults of options",
    "fleet.options -> export.schema": "the same; only chosen columns are looked up",
    "fleet.options -> _http.identity": "the same; only options that are given are checked",
    "objects.abstract_sitemap -> _snapshot.recording": "save: warcio is an extra",
    "_crawl.thread_driver -> _snapshot.recording": "the same; most crawls are not recorded",
    "_crawl.thread_driver -> _base.progress_line": "few programs show progress",
    "_crawl.fetch -> web_client.requests_client": "programs on asyncio never need it",
    "_inputs -> _snapshot.warc": "most inputs are not files",
    "_inputs -> snapshot": "the same, and most files are not snapshots",
    "_inputs -> _inputs.local_files": "the same",
    "_inputs -> _inputs.table_input": "the same, or tables",
    "_crawl.website -> _crawl.hints": "few ask for neighbours, and most websites have sitemaps",
    "_crawl.receiver -> _crawl.hints": "few ask for neighbours",
    "_inputs -> fleet.current": "the same, or datasets, which need extras",
    "_inputs -> aio": "most programs do without asyncio",
}

MODULES = sorted(ROOT.rglob("*.py"))


def name_of(path: Path) -> str:
    """Give a module's name without ``usp``; the package itself is the empty name."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


BY_NAME = {name_of(path): path for path in MODULES}


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


@cache
def parsed(path: Path) -> ast.Module:
    """Return the syntax tree of a module."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def is_module(name: str) -> bool:
    path = ROOT.parent.joinpath(*name.split("."))
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


def names_in(node: ast.AST) -> list[str]:
    """Return the modules that an import statement loads."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        assert node.level == 0, f"a relative import: {ast.unparse(node)}"
        full = [f"{node.module}.{alias.name}" for alias in node.names]
        return [name if is_module(name) else str(node.module) for name in full]
    return []


def has_statements(node: ast.AST) -> bool:
    return isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case)


@cache
def imports(module: str) -> list[tuple[str, bool]]:
    """Return what a module of ours imports, and whether it does so only when a function is called."""
    found: list[tuple[str, bool]] = []

    def visit(nodes: Iterable[ast.AST], *, deferred: bool) -> None:
        for node in nodes:
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
                visit(node.orelse, deferred=deferred)  # names for the type checker are not loaded
                continue
            found.extend((name, deferred) for name in names_in(node))
            inside = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            below = filter(has_statements, ast.iter_child_nodes(node))
            visit(below, deferred=deferred or inside)

    visit([parsed(BY_NAME[module])], deferred=False)
    return found


def ours(module: str) -> Iterator[tuple[str, bool]]:
    """Yield the modules of ours that a module imports, without ``usp``."""
    for name, deferred in imports(module):
        if name.partition(".")[0] == "usp":
            yield name.removeprefix("usp").removeprefix("."), deferred


def test_a_module_imports_only_what_stands_below_it_or_beside_it():
    wrong = [
        f"{module} imports {name}, which stands above it"
        for module in BY_NAME
        for name, deferred in ours(module)
        if rank(name) < rank(module) and not (deferred and f"{module} -> {name}" in DEFERRED)
    ]
    assert not wrong


def test_every_deferred_import_is_on_the_list_and_every_one_on_the_list_exists():
    """The command line may load what it needs when a command runs: it is the top layer."""
    found = {
        f"{module} -> {name}"
        for module in BY_NAME
        for name, deferred in ours(module)
        if deferred and rank(module) > 0
    }
    assert found == set(DEFERRED)


PURE = ("_formats", "objects", "_crawl")
"""Packages that parse and decide: no sockets, files, clocks or threads, whatever they import."""

NOT_PURE = {  # of these packages, and why
    "_crawl.fetch": "fetches a document by the clock",
    "_crawl.receiver": "receives a document by the clock and stores it",
    "_crawl.thread_driver": "waits and fetches",
    "_crawl.asyncio_driver": "waits and fetches",
}
OUTSIDE = frozenset(
    {"aiohttp", "asyncio", "os", "pathlib", "requests", "socket", "subprocess", "tempfile"}
    | {"threading", "time", "urllib3", "usp._store"}
)
HARMLESS = {  # what a module takes of the outside all the same
    ("_base.names", "os"): "looks once for another distribution of the same name",
    ("_formats.batches", "threading"): "a lock around a table that threads share",
}


def is_pure(module: str) -> bool:
    return module not in NOT_PURE and module.startswith(PURE)


def loaded(module: str) -> set[str]:
    """Return what a module of ours loads when it is imported, by the names of modules."""
    return {name for name, deferred in imports(module) if not deferred}


def outside(module: str) -> dict[str, str]:
    """Return what a module touches of the outside, by itself or by what it imports: by whom."""
    touched: dict[str, str] = {}
    waiting, seen = [module], {module}
    while waiting:
        here = waiting.pop()
        for name in loaded(here):
            own = name.removeprefix("usp.")
            top = "usp._store" if own.startswith("_store") else name.split(".")[0]
            if top in OUTSIDE and (here, top) not in HARMLESS:
                touched[top] = here
            elif name.startswith("usp.") and own not in seen:
                seen.add(own)
                waiting.append(own)
    return touched


def test_parsing_and_deciding_know_no_sockets_files_or_clocks():
    """Neither do the modules that they import, however far away."""
    pure = list(filter(is_pure, BY_NAME))
    assert len(pure) > 20
    assert not {module: touched for module in pure if (touched := outside(module))}


def test_the_exceptions_from_purity_are_needed():
    assert all(outside(module) for module in NOT_PURE)
    for module, name in HARMLESS:
        assert name in {loaded_name.split(".")[0] for loaded_name in loaded(module)}


TWICE = {"__init__", "__main__", "formats", "options"}
"""Names of modules that may occur more than once: their folder says of what."""


def test_a_name_of_a_module_or_a_class_occurs_once():
    modules, classes = defaultdict(list), defaultdict(list)
    for path in MODULES:
        modules[path.stem].append(name_of(path))
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ClassDef):
                classes[node.name.lstrip("_")].append(name_of(path))
    twice = {name: where for name, where in classes.items() if len(where) > 1}
    twice |= {n: where for n, where in modules.items() if len(where) > 1 and n not in TWICE}
    assert not twice


def test_the_library_does_not_load_the_command_lines_dependencies():
    for module in BY_NAME:
        tops = {name.partition(".")[0] for name, _ in imports(module)}
        assert rank(module) == 0 or not tops & {"click", "rich", "rich_click"}, module
