"""What contributors read is true: files that it names exist, and its examples work when applied."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))

import release  # noqa: E402 - a script

TEXT = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
EXAMPLES = {
    title: (diff, commands)
    for title, diff, commands in re.findall(
        r"^### (.+?)\n.*?^```diff\n(.*?)^```\n.*?^```sh\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL
    )
}
_PATH = re.compile(r"`((?:[\w.-]+/)+[\w.-]+|\.ci/run|\w+\.md)`")


def files_of(diff: str) -> dict[str, list[str]]:
    """Return the lines of a diff by file."""
    _, *parts = re.split(r"^--- (.+)\n", diff, flags=re.MULTILINE)
    return dict(zip(parts[::2], map(str.splitlines, parts[1::2]), strict=True))


def applied(text: str | None, lines: list[str]) -> str:
    """Return a file after its lines of a diff: each line that is kept or removed is found in order."""
    if text is None:
        assert all(line.startswith("+") for line in lines)
        return "".join(f"{line[1:]}\n" for line in lines)
    rest, done = text.splitlines(), []
    for line in lines:
        if line.startswith("+"):
            done.append(line[1:])
            continue
        assert line[1:] in rest, line
        at = rest.index(line[1:])
        done += rest[:at] if line.startswith("-") else rest[: at + 1]
        rest = rest[at + 1 :]
    return "\n".join([*done, *rest]) + "\n"


def test_every_file_that_is_named_exists():
    new = {path for diff, _ in EXAMPLES.values() for path in files_of(diff)}
    named = {match for match in _PATH.findall(TEXT) if not match.startswith("v")}
    assert len(named) > 15
    missing = [path for path in named - new if not (ROOT / path).exists()]
    assert not missing


def test_the_architecture_names_modules_that_exist_and_every_folder_in_its_layers():
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    where = (ROOT / "docs" / "where-changes-go.md").read_text("utf-8")
    paths = set(re.findall(r"`(src/usp/[\w/]+\.py)`", where))
    assert len(paths) > 60
    assert [path for path in paths if not (ROOT / path).exists()] == []
    names = set(re.findall(r"`(?:xml/)?(\w+\.py)`", text))
    assert len(names) > 10
    assert names <= {path.name for path in (ROOT / "src").rglob("*.py")}
    layers = text[text.index("## Layers") : text.index("## How a page travels")]
    folders = {f"usp/{path.parent.name}" for path in (ROOT / "src" / "usp").glob("*/__init__.py")}
    assert folders - {"usp/_demo"} <= set(re.findall(r"`(usp/\w+)`", layers))


def test_there_is_an_example_for_each_kind_of_change():
    kinds = ["A field of an extension", "A format", "A rule", "An output", "A limit"]
    assert list(EXAMPLES) == kinds


@pytest.mark.parametrize("title", EXAMPLES)
def test_an_example_fits_the_sources(title):
    for path, lines in files_of(EXAMPLES[title][0]).items():
        file = ROOT / path
        text = file.read_text("utf-8") if file.exists() else None
        assert applied(text, lines) != text


@pytest.mark.long
@pytest.mark.parametrize("title", EXAMPLES)
def test_an_example_works(title, tmp_path):
    """Its commands end with 0 in a copy that has the change."""
    diff, commands = EXAMPLES[title]
    for name in ("src", "tests", "docs", "tools"):
        ignored = shutil.ignore_patterns("images", "values_of_1_8_1")  # what is compiled stays so
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignored)
    for name in ("pyproject.toml", "README.md", ".pre-commit-hooks.yaml"):
        shutil.copy(ROOT / name, tmp_path)
    for path, lines in files_of(diff).items():
        file = tmp_path / path
        file.write_text(applied(file.read_text("utf-8") if file.exists() else None, lines), "utf-8")
    for line in commands.splitlines():
        ran = run(line, tmp_path)
        assert ran.returncode == 0, ran.stdout + ran.stderr


def run(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    python, *arguments = shlex.split(line)
    assert python == "python"
    more = ["-n", "0", "-p", "no:cacheprovider"] if "pytest" in arguments else []
    environment = {**os.environ, "PYTHONPATH": str(folder / "src")}
    command, texts = [sys.executable, *arguments, *more], {"capture_output": True, "text": True}
    return subprocess.run(command, cwd=folder, env=environment, timeout=300, check=False, **texts)


# The release -----------------------------------------------------------------------------------------


def test_the_notes_of_a_release_are_its_entry_in_the_changelog():
    text = "# Changelog\n\n## [Unreleased]\n\n## [1.1] - 2025-01-02\n\n### Added\n\n- A.\n\n## [1.0] - 2024-01-01\n\n- B.\n\n[1.0]: x\n"
    assert release.notes(text, "1.1") == "### Added\n\n- A."
    assert release.notes(text, "1.0") == "- B."
    assert release.notes(text, "1.2") is None


def test_a_tag_that_is_not_the_version_is_refused(capsys):
    assert release.main(["v0.0.1"]) == 1
    assert f"the version is {release.version()}" in capsys.readouterr().err


def test_the_changelog_is_written_as_keep_a_changelog_wants_it():
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert "https://keepachangelog.com/" in text
    headings = re.findall(r"^(##+) (.+)$", text, re.MULTILINE)
    assert headings[0] == ("##", "[Unreleased]")
    kinds = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    for level, heading in headings[1:]:
        if level == "##":
            assert re.fullmatch(r"\[\d+\.\d+\.\d+\S*\] - \d{4}-\d\d-\d\d", heading), heading
        else:
            assert (level, heading in kinds) == ("###", True), heading
