"""The public surface is what ``docs/reference/api/index.md`` lists: no module and no name more or less."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import usp
from together import together
from usp._base.names import LAZY_NAMES
from usp.objects.sitemap import AbstractSitemap
from usp.options import CrawlOptions
from usp.selection import Selection

ROOT = Path(usp.__file__).parent
DOCS = Path(__file__).parent.parent / "docs" / "reference"
OPTIONS = (DOCS / "options.md").read_text("utf-8")
API = (DOCS / "api" / "index.md").read_text("utf-8")

LISTED = {
    module: re.findall(r"`(\w+)`", names)
    for module, names in re.findall(r"^\| `(usp[\w.]*)` \| [^|]* \| (.*) \|$", API, re.MULTILINE)
}


@together("module, names", LISTED.items())
def test_a_module_has_the_names_that_the_reference_lists(module, names):
    loaded = importlib.import_module(module)
    assert sorted(loaded.__all__) == sorted(names)
    assert len(set(loaded.__all__)) == len(loaded.__all__)
    assert [name for name in loaded.__all__ if not hasattr(loaded, name)] == []


def test_every_module_is_listed_or_says_that_it_is_internal():
    found = {path.stem for path in ROOT.glob("[a-z]*.py")}
    found |= {path.parent.name for path in ROOT.glob("[a-z]*/__init__.py")}
    assert found == {module.split(".")[1] for module in LISTED if "." in module}


def test_what_usp_offers_to_programs_type_checkers_and_readers_is_the_same():
    tree = ast.parse((ROOT / "__init__.py").read_text("utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    for_checkers = {
        alias.name: f"usp.{alias.name}" if node.module == "usp" else f"{node.module}:{alias.name}"
        for node in imports
        for alias in node.names
    }
    assert for_checkers | {"version": "importlib.metadata:version"} == LAZY_NAMES["usp"]
    assert set(usp.__all__) <= {*for_checkers, "__version__"}
    assert set(usp.__all__) <= set(dir(usp))
    assert {"AiohttpWebClient", "aio", "export", "tree", "web_client"} <= set(dir(usp))
    for name, place in for_checkers.items():
        module, _, attribute = place.partition(":")
        loaded = importlib.import_module(module)
        assert getattr(usp, name) is (getattr(loaded, attribute) if attribute else loaded)


def test_a_star_import_needs_no_extra():
    code = "import sys; sys.modules['aiohttp'] = sys.modules['pyarrow'] = None; from usp import *"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_reference_lists_the_options_of_a_crawl_with_their_defaults():
    listed = re.findall(r"^\| `(\w+)` \| `([\w.()]+)` \| .* \|$", OPTIONS, re.MULTILINE)
    fields = dataclasses.fields(CrawlOptions)
    assert listed == [(field.name, repr(field.default)) for field in fields]


def test_selecting_pages_of_a_tree_takes_what_a_selection_takes():
    def parameters(function) -> list[tuple[str, object, object]]:
        given = inspect.signature(function).parameters.values()
        return [(one.name, one.default, one.annotation) for one in given if one.name != "self"]

    assert parameters(AbstractSitemap.select) == parameters(Selection)
