"""``import usp`` warns if ultimate-sitemap-parser is installed too: it overwrites our files."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import usp
from together import together

SOURCE = str(Path(usp.__file__).parent.parent)


@pytest.fixture
def python(tmp_path):
    """Run Python with a folder of packages in which the other one is installed, or is not."""

    def run(*arguments: str, installed: str | None) -> subprocess.CompletedProcess[str]:
        packages = tmp_path / str(len(list(tmp_path.iterdir()))) / "site-packages"
        packages.mkdir(parents=True)
        (packages / "requests-2.32.0.dist-info").mkdir()
        if installed is not None:
            (packages / installed).mkdir()
        path = os.pathsep.join([SOURCE, str(packages)])
        return subprocess.run(
            [sys.executable, *arguments],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": path},
        )

    return run


OTHER = "ultimate_sitemap_parser-1.8.1.dist-info"
WARNING = "UserWarning: ultimate-sitemap-parser is installed alongside usp"


@together("installed", [OTHER, "ultimate-sitemap-parser-0.5.egg-info"])
def test_the_other_distribution_beside_ours_is_a_warning_once(python, installed):
    code = "import usp, usp.tree, usp.stream, usp._crawl"
    done = python("-W", "always", "-c", code, installed=installed)
    assert done.returncode == 0
    assert done.stderr.count(WARNING) == done.stderr.count("is installed alongside") == 1
    assert "pip uninstall" in done.stderr


@together("installed, told", [(None, ""), (OTHER, WARNING.partition(": ")[2])])
def test_where_warnings_are_errors_the_import_works_and_the_log_tells(python, installed, told):
    done = python("-W", "error", "-c", "import usp, usp.tree", installed=installed)
    assert done.returncode == 0
    assert done.stderr.startswith(told)
    assert bool(done.stderr) is bool(told)


def test_it_is_told_although_our_first_file_was_overwritten(python, tmp_path):
    """As it is when the other one was installed last: what only we have is still ours."""
    package = tmp_path / "mixed" / "usp"
    package.mkdir(parents=True)
    package.joinpath("__init__.py").write_text("__version__ = '1.8.1'\n")
    for entry in Path(SOURCE, "usp").iterdir():
        if entry.name not in ("__init__.py", "__pycache__"):
            package.joinpath(entry.name).symlink_to(entry)
    code = f"import sys; sys.path.insert(0, {str(package.parent)!r}); import usp.stream"
    done = python("-c", code, installed=OTHER)
    assert "is installed alongside" in done.stderr
