"""Everything that can be imported from a module of ultimate-sitemap-parser 1.8.1 can be from ours.

``names_of_1_8_1.json`` lists the public names in the namespaces of its modules.
"""

import importlib
import json
import subprocess
import sys
import types
from pathlib import Path

import pytest

import usp._base.names
from together import together

NAMES = json.loads(Path(__file__).with_name("names_of_1_8_1.json").read_text("utf-8"))


@together("module", NAMES)
def test_a_name_can_be_imported_from_where_it_was(module):
    for name, kind in NAMES[module].items():
        namespace: dict[str, object] = {}
        exec(f"from {module} import {name} as found", namespace)
        assert _kind(namespace["found"]) == kind, name


def _kind(found: object) -> str:
    if isinstance(found, types.ModuleType):
        return "module"
    if isinstance(found, type):
        return "class"
    return "callable" if callable(found) else type(found).__name__


@together("module", NAMES)
def test_a_name_that_is_nowhere_is_an_import_error_that_names_the_module(module):
    with pytest.raises(ImportError, match="cannot import name 'nowhere'"):
        exec(f"from {module} import nowhere", {})
    with pytest.raises(AttributeError, match=f"module '{module}' has no attribute 'nowhere'"):
        importlib.import_module(module).nowhere  # noqa: B018


def test_a_name_of_ours_is_the_same_object_wherever_it_is_imported_from():
    for module, names in NAMES.items():
        for name in names:
            found = getattr(importlib.import_module(module), name)
            home = getattr(found, "__module__", None)
            if isinstance(found, type) and str(home).startswith("usp."):
                assert getattr(importlib.import_module(home), name) is found


@pytest.mark.long
@together("module", usp._base.names.LAZY_NAMES)
def test_names_are_found_by_the_module_that_is_imported_alone(module):
    """Each module is the first to be imported, so that nothing else can have loaded the name."""
    names = ", ".join(usp._base.names.LAZY_NAMES[module])
    code = f"from {module} import {names}"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_importing_the_package_loads_nothing_that_it_does_not_need():
    code = "import sys, usp; print(*(name for name in sys.modules if name.startswith('usp')))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert sorted(done.stdout.split()) == ["usp", "usp._base", "usp._base.names"]
    code = "assert not {'requests', 'importlib.metadata', 'pathlib'} & {*sys.modules}"
    env = {"PYTHONPATH": str(Path(usp.__file__).parent.parent)}
    subprocess.run([sys.executable, "-S", "-c", f"import sys, usp; {code}"], check=True, env=env)


def test_star_imports_give_the_front_doors():
    namespace: dict[str, object] = {}
    exec("from usp import *; from usp.tree import *; from usp.fetch_parse import *", namespace)
    assert namespace["tree"].sitemap_tree_for_homepage is namespace["sitemap_tree_for_homepage"]
    assert {"__version__", "InvalidSitemap", "XMLSitemapParser", "SitemapPage"} <= set(namespace)


def test_the_statuses_that_are_asked_again_can_be_changed():
    from usp.web_client.abstract_client import RETRYABLE_HTTP_STATUS_CODES  # noqa: PLC0415
    from usp.web_client.requests_client import RETRYABLE_HTTP_STATUS_CODES as SAME  # noqa: PLC0415

    assert RETRYABLE_HTTP_STATUS_CODES is SAME
    assert isinstance(SAME, set)


# The command line ---------------------------------------------------------------------------------


def test_the_command_line_under_its_old_name(capsys):
    from usp.cli.cli import main, parse_args  # noqa: PLC0415

    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert end.value.code == 0
    assert capsys.readouterr().out.startswith("usp v")
    options, parser = parse_args(["ls", "https://example.org/", "--no-robots"])
    assert options.no_robots
    assert not options.no_known
    assert callable(options.func)
    parser.print_help()
    assert "usp ls" in capsys.readouterr().out
    assert vars(parse_args([])[0]) == {}


@together("wrong", [["ls"], ["bogus"], ["ls", "--bogus", "https://example.org/"]])
def test_a_wrong_call_ends_with_two(capsys, wrong):
    from usp.cli.cli import parse_args  # noqa: PLC0415

    with pytest.raises(SystemExit) as end:
        parse_args(wrong)
    assert end.value.code == 2
    assert capsys.readouterr().err
