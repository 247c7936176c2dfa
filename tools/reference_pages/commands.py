"""A page for each command: what it does, its examples, options and exit statuses."""

from __future__ import annotations

import inspect
import re
from itertools import groupby
from typing import TYPE_CHECKING

import click
from tools.reference_pages.markup import escaped, table

from usp.cli.cli import cli
from usp.cli.commands import COMMANDS

if TYPE_CHECKING:
    from collections.abc import Iterator

_EARLY = " (also if the reader of a pipe stopped early)"
_READ = {
    0: f"something was read, or there are no sitemaps{_EARLY}",
    1: "no sitemap with pages could be read (for a file or standard input: the document itself), "
    "or the result could not be written",
}
_WRONG = {
    2: "wrong usage: an option, a URL or a file that does not exist, or a file that cannot be written"
}
_UNWRITTEN = {1: "the result could not be written"}
_STRICT = {3: "only with `--strict`: something is missing or incomplete"}
_STOPPED = {
    130: "interrupted by Ctrl-C; files that were being written are left as they were before"
}
_KEPT = {
    130: f"{_STOPPED[130]}; with `--keep-partial`, the status is that of what was found until then"
}
_USUAL = {**_READ, **_WRONG, **_STRICT, **_KEPT}
_OF_DATASETS = ("changes", "stats", "forget", "convert")
STATUSES: dict[str, dict[int, str]] = {
    "tree": _USUAL,
    "ls": _USUAL,
    "report": _USUAL,
    "snapshot": {
        **_USUAL,
        1: f"{_READ[1]}; or no pages were found, and an existing file was left as it was",
    },
    "update": {
        **_USUAL,
        1: "FILE is not a snapshot, or the result could not be written; or more of the pages are gone than `--max-removed`, "
        "or more than half could not be read, or sitemaps have suddenly lost theirs: the snapshot still has them",
    },
    "diff": {
        0: f"nothing changed{_EARLY}",
        1: "something changed",
        2: "A or B could not be read, the result could not be written, or wrong usage",
        3: "no confirmed change, but some are unknown, since a sitemap could be read on one side only; "
        "with `--strict`, whenever something is missing",
        **_KEPT,
    },
    "watch": {
        0: "stopped by Ctrl-C or SIGTERM, or all `--rounds` are over; what failed is reported, and the "
        "next round tries again",
        1: "what was found could not be written, or another watch has the snapshot; or all `--rounds` are over, and in "
        "the last one more of the pages were gone than `--max-removed`, or more than half could not be read: the "
        "snapshot still has them; or `--exec` or `--post` did not take its changes, which come again",
        **_WRONG,
        3: "only with `--strict`: all `--rounds` are over, and in the last one a sitemap was missing or incomplete, or "
        "nothing could be read",
    },
    "check": {
        0: f"nothing was found that is as severe as `--fail-on` says{_EARLY}",
        1: "something was",
        2: "something could not be checked, whatever was found elsewhere: wrong usage, no response, no sitemaps at all, robots "
        "are turned away, a file that cannot be written",
        3: "only with `--strict`: nothing was found that fails, but a sitemap is missing",
        **_KEPT,
    },
    "rule": {
        0: "the rules were explained",
        **_UNWRITTEN,
        2: "there is no such rule, or other wrong usage",
    },
    "crawl": {
        0: "every site of the list is in the dataset, those that failed with a reason each",
        1: "not every site is, because the run could not go on; or more of the sites failed than `--max-failed` allows "
        "that were good before; or, with `--again` or `--retry-failed`, sites keep what they had",
        2: "wrong usage: no such list, or a folder that is not a dataset",
        130: "interrupted by Ctrl-C; the sites that were finished are in the dataset; run the same command "
        "to resume",
    },
    **{
        name: {
            0: "the dataset was read, and written",
            1: "it could not be read, or something could not be written",
            2: "wrong usage: no such dataset",
            **_STOPPED,
        }
        for name in _OF_DATASETS
    },
    "mcp": {
        0: "the client has ended the connection",
        1: "the extra `mcp` is not installed, or the address of `--http` is taken",
        **_WRONG,
        130: "interrupted by Ctrl-C",
    },
    "demo": {0: "the demo has ended", **_UNWRITTEN, **_WRONG, 130: "interrupted by Ctrl-C"},
    "help": {0: "the page was shown", **_UNWRITTEN, 2: "there is no such topic"},
}

GUIDES = {
    "ls": "[Pages as data](../../guides/data.md)",
    "report": "[The report](../../guides/report.md)",
    "snapshot": "[Snapshots](../../guides/snapshots.md)",
    "update": "[Snapshots](../../guides/snapshots.md#updates)",
    "diff": "[What changed](../../guides/diff.md)",
    "watch": "[Watch a website](../../guides/watch.md)",
    "check": "[Check sitemaps](../../guides/check.md), "
    "[in continuous integration](../../guides/ci.md)",
    "rule": "[all rules](../rules.md)",
    "crawl": "[Many sites](../../guides/fleet.md)",
    "changes": "[Many sites](../../guides/fleet.md#changes)",
    "stats": "[Many sites](../../guides/fleet.md#reading-the-dataset)",
    "forget": "[Many sites](../../guides/fleet.md#sites-to-leave-alone)",
    "convert": "[Many sites](../../guides/fleet.md#datasets-of-earlier-versions)",
    "mcp": "[Let language models and agents use it](../../guides/agents.md)",
}

# For those who run the examples: tests/docs/doc_blocks.py says what the comments mean.
_ENDLESS = "<!-- not run: runs until it is stopped -->"
_OTHER = "<!-- not run: needs another program -->"
NOTES: dict[str, dict[int, str]] = {
    "demo": {1: _OTHER, 3: _ENDLESS, 4: _ENDLESS},
    "tree": {3: _OTHER},
    "diff": {**dict.fromkeys(range(5), "<!-- exit status 1 -->"), 5: "<!-- exit status 3 -->"},
    "watch": dict.fromkeys(range(4), _ENDLESS),
    "check": {
        **dict.fromkeys(range(3), "<!-- exit status 1 -->"),
        **dict.fromkeys((5, 6), "<!-- exit status 1 -->"),
    },
    "mcp": dict.fromkeys(range(5), _ENDLESS),
    "crawl": {
        5: _ENDLESS,
        7: "<!-- not run: needs an object store -->",
        8: "<!-- not run: needs a cluster -->",
    },
    "changes": {1: "<!-- exit status 1 -->", 3: _ENDLESS},
    "convert": dict.fromkeys(range(2), _OTHER),
    "stats": {1: _OTHER},
}
_SNAPSHOT = "<!-- run: usp snapshot example.org -o site.warc.gz -->"
BEFORE: dict[str, list[str]] = {
    "tree": ["<!-- run: cp public/sitemap_index.xml . -->"],
    "report": [
        _SNAPSHOT.replace("site.", "last-week."),
        "<!-- run: mkdir snapshots; cp last-week.warc.gz snapshots -->",
    ],
    "update": [_SNAPSHOT],
    "diff": [
        _SNAPSHOT,
        "<!-- run: cp site.warc.gz monday.warc.gz; cp site.warc.gz a.warc.gz; mkdir old new -->",
        "<!-- run: usp ls a.warc.gz -o site.csv -->",
        (
            "<!-- run: cp public/sitemaps/pages.xml old/sitemap.xml; cp public/sitemap-news.xml "
            "new/sitemap.xml -->"
        ),
        "<!-- a day later -->",
        "<!-- run: usp snapshot example.org -o tuesday.warc.gz -->",
        "<!-- run: cp tuesday.warc.gz b.warc.gz -->",
    ],
    "crawl": [
        (
            "<!-- run: printf 'site\\nexample.org\\n' > sites.csv; python -c \"import polars; "
            "polars.read_csv('sites.csv').write_parquet('sites.parquet')\" -->"
        )
    ],
    **{name: ["<!-- run: usp crawl sites.txt -o dataset --workers 1 -->"] for name in _OF_DATASETS},
}

MORE = {
    "tree": "`-f json` has every sitemap with its `type`, `status`, `bytes`, `pages`, `failure`, `code` and `lastmod`, "
    "nested like the tree; with `-p` also its `problems`, one for each [code](../problems.md) with its count, first "
    "line and an example.\n\n![The tree of the demo website](../../images/tree.svg)\n\n"
    "With `-f dot`, `mermaid` or `svg` it is a graph. Square boxes are indexes, rounded boxes are sitemaps with pages, and dashed boxes failed. Each box shows the "
    "number of pages in it or below it. Sitemaps are drawn in the order in which they are listed; if there are many, the "
    "others share one box.\n\n![The tree of the demo website as a graph](../../images/graph.svg)\n\n"
    "In Python: `usp.graph.dot(tree)`, `usp.graph.mermaid(tree)`, `usp.graph.svg(tree)`.",
    "demo": "Try other commands and your own programs with it, without internet access: "
    "`usp tree -p http://127.0.0.1:8017/`.",
}
"""What else there is to say about a command."""

_CODE = re.compile(
    r"('(?:usp|pip) [^']*'(?:\[[^']*')?|(?<![\w-])(?:--?[a-zA-Z][\w-]*|usp [a-z]+)\b)"
)
_COMMENT = "<!-- Generated by python -m tools.reference_pages from the command. -->"


def pages() -> dict[str, str]:
    """Return a page for each command, and that of the exit statuses."""
    found = {f"cli/{name}.md": _page(name, COMMANDS[name]) for name in COMMANDS}
    return {**found, "exit-status.md": _exit_statuses()}


def _page(name: str, command: click.Command) -> str:
    text, _, examples = inspect.cleandoc(command.help or "").partition("\b\nExamples:\n")
    # A command remembers the names of its help option from the first context that it gets.
    parent = click.Context(cli, info_name="usp", **cli.context_settings)
    with click.Context(command, parent, name) as about:
        usage = " ".join([about.command_path, *command.collect_usage_pieces(about)])
    parts = [f"# usp {name}", _COMMENT, *map(_paragraph, text.strip().split("\n\n"))]
    parts += [f"```text\n{usage}\n```"]
    if name in GUIDES:
        parts += [f"How to use it: {GUIDES[name]}."]
    if examples:
        parts += [
            "## Examples",
            "\n".join([*BEFORE.get(name, ()), *_examples(name, examples)]).rstrip(),
        ]
    if name in MORE:
        parts += [MORE[name]]
    for title, options in _panels(command).items():
        parts += [f"## {title}", _table(options)]
    parts += ["## Exit status", table("status | meaning", _rows(STATUSES[name]))]
    return "\n\n".join(parts) + "\n"


def _paragraph(text: str) -> str:
    """Return text with options, commands and what is to be typed as code."""
    parts = _CODE.split(" ".join(text.split()))
    return "".join(
        "`" + part.strip("'") + "`" if at % 2 else escaped(part) for at, part in enumerate(parts)
    )


def _examples(name: str, text: str) -> Iterator[str]:
    """Yield blocks of commands, with what is to be known to run them."""
    found: list[str] = []
    for line in text.splitlines():
        command, _, remark = line.strip().partition("   ")
        if not line.strip().startswith("usp"):
            found[-1] += f"  # {line.strip()}"
        elif remark:
            found.append(f"{command}  # {remark.strip()}")
        elif line.strip():
            found.append(command)
    widths = [len(line.partition("  # ")[0]) for line in found if "  # " in line]
    width = max((one for one in widths if one < 60), default=0)  # noqa: PLR2004 - beyond, remarks are far
    notes = NOTES.get(name, {})
    for note, lines in groupby(enumerate(found), key=lambda item: notes.get(item[0], "")):
        block = [f"{a:{width}}{b}{c}" for _, one in lines for a, b, c in [one.partition("  # ")]]
        yield "\n".join(filter(None, [note, "```sh", *(line.rstrip() for line in block), "```\n"]))


def _options(command: click.Command) -> list[click.Option]:
    return [p for p in command.params if isinstance(p, click.Option) and not p.hidden]


def _panels(command: click.Command) -> dict[str, list[click.Option]]:
    """Return the options as the help groups them: those of the command itself come first."""
    found: dict[str, list[click.Option]] = {"Options": []}
    for option in _options(command):
        found.setdefault(getattr(option, "panel", None) or "Options", []).append(option)
    return {title: options for title, options in found.items() if options}


def _table(options: list[click.Option]) -> str:
    rows = [(_names(option), _environment(option), _meaning(option)) for option in options]
    if any(environment for _, environment, _ in rows):
        return table("option | environment | ", rows)
    return table("option | ", [(names, meaning) for names, _, meaning in rows])


def _names(option: click.Option) -> str:
    names = [f"`{name}`" for name in (*option.opts, *option.secondary_opts)]
    if not option.is_flag and not option.count:
        kind = option.type
        value = option.metavar or (
            "|".join(map(str, kind.choices))
            if isinstance(kind, click.Choice)
            else kind.name.upper()
        )
        names[-1] = f"`{option.opts[-1]} {value}`".replace("|", "\\|")
    return ", ".join(names)


def _environment(option: click.Option) -> str:
    given = option.envvar
    names = [given] if isinstance(given, str) else list(given or ())
    return ", ".join(f"`{name}`" for name in names)


def _meaning(option: click.Option) -> str:
    text = _paragraph(option.help or "")
    if option.show_default and option.default not in (None, False, ()):
        text += f" Default: `{option.default}`."
    if option.required:
        text += " Required."
    if option.multiple:
        text += " Can be repeated."
    return text


def _rows(statuses: dict[int, str]) -> list[tuple[str, str]]:
    return [(str(status), meaning) for status, meaning in statuses.items()]


def _exit_statuses() -> str:
    rows = list(STATUSES.items())
    usual = [name for name, statuses in rows if statuses is _USUAL]
    parts = [
        "# Exit statuses",
        _COMMENT.replace("the command", "the commands"),
        (
            "A script can tell from the exit status whether to go on. Standard error always says what is missing, "
            "with `--log-format json` as JSON."
        ),
        "## " + ", ".join(f"usp {name}" for name in usual),
        table("status | meaning", _rows(_USUAL)),
        (
            "One dead sitemap of many is not a failure: `usp ls example.org -f pages > urls.txt && next` goes on. "
            "`--strict` (also `USP_STRICT=1`, or `strict = true` in `usp.toml`) is for scripts that need "
            "everything. An index that lists itself counts as complete, and so does what `--limit` leaves out."
        ),
    ]
    for name, statuses in rows:
        if statuses is not _USUAL:
            parts += [f"## usp {name}", table("status | meaning", _rows(statuses))]
    return "\n\n".join(parts) + "\n"
