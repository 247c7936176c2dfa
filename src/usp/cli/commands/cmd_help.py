"""``usp help``: shows the documentation: the pages of the site, packaged with the library."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

import rich_click as click

import usp
from usp._base.display import did_you_mean
from usp.cli import options
from usp.cli.commands import COMMANDS
from usp.cli.output import has_colors, is_for_people, write_text

_GROUPS = {"guides": "How-to guides", "reference": "Reference", "": "Tutorial and explanation"}
_WIDEST = 100  # columns of text that is easy to read

_BLOCK = re.compile(r"^(```+[^`\n]*\n.*?^```+)[ ]*$\n?", re.MULTILINE | re.DOTALL)
_DIRECTIVE = "```{"
_TITLE = re.compile(r"^# (.+)$", re.MULTILINE)
_LINK = re.compile(r"(!?)\[([^\[\]]+)\]\(([^()\s]*)\)")
_PAGE = re.compile(
    r"(?:(?:\.\.|guides|reference|docs)/)*((?!index\.)[\w-]+)(?:/index)?\.md(?:#.*)?"
)
_SIBLING = re.compile(r"\[([^\[\]]+)\]\([\w-]+\.md(?:#[^()\s]*)?\)")
_MARKS = re.compile(
    r"^[ \t]*<!--[^<]*-->[ \t]*\n"  # for the tests of examples
    r"|^:::[^\n]*\n"  # the frame of a note; its text stays
    r"|^\([\w-]+\)=\n",  # a target of links
    re.MULTILINE,
)
_GAP = re.compile(r"\n{3,}")


@options.command("help")
@click.argument("topic", required=False)
@options.common_options
@click.pass_context
def command(ctx: click.Context, topic: str | None) -> None:
    """Show a page of the documentation, or the list of topics.

    TOPIC is a page, a command without a page of its own, or a rule of usp check. On a terminal pages
    are shown in a pager; elsewhere they are Markdown.

    Examples:
      usp help                     all topics
      usp help streaming           a page
      usp help snapshot            how to use a command
      usp help SM401               what a code means
      usp help rules > rules.md    a page in a file
    """
    if topic is None:
        write_text(_list())
    elif topic in topics():
        _show(topic)
    elif topic in COMMANDS:
        parent = ctx.parent or ctx
        with click.Context(COMMANDS[topic], parent, topic) as about:
            click.echo(about.get_help())
    else:
        try:
            ctx.invoke(COMMANDS["rule"], names=(topic,), form=None, output=None)
        except click.BadParameter:  # it is no rule
            hint = did_you_mean(topic, [*topics(), *COMMANDS]) or "'usp help' lists all topics"
            raise click.UsageError(f"unknown topic {topic!r}; {hint}") from None


@functools.cache
def topics() -> dict[str, tuple[str, Traversable]]:
    """Return the pages by name, each with its group, how-to guides first."""
    packaged = resources.files("usp") / "_docs"
    # In a clone of the repository the pages are beside the sources.
    top = packaged if packaged.is_dir() else Path(usp.__file__).parents[2] / "docs"
    found: dict[str, tuple[str, Traversable]] = {}
    for group in _GROUPS:
        folder = top / group if group else top
        for page in sorted(folder.iterdir(), key=lambda page: page.name) if folder.is_dir() else []:
            name = page.name.removesuffix(".md")
            if name not in (page.name, "index"):
                found.setdefault(name, (group, page))
    about_commands = top / "reference" / "cli" / "index.md"
    if about_commands.is_file():
        found["cli"] = "reference", about_commands
    return found


def _list() -> Iterator[str]:
    widest = max(map(len, topics()), default=0)
    for group, title in _GROUPS.items():
        yield f"{title}:"
        for name, (of_page, page) in topics().items():
            if of_page == group:
                heading = _TITLE.search(page.read_text("utf-8"))
                yield f"  {name:{widest}}  {heading[1].replace('`', '') if heading else name}"
        yield ""
    yield "usp help TOPIC shows a page, usp COMMAND --help the options of a command."


def _show(topic: str) -> None:
    """Show a page: in a pager on a terminal, else as Markdown."""
    _, page = topics()[topic]
    text = page.read_text("utf-8")
    if page.name == "index.md":  # the pages beside it are the help of commands
        text = _SIBLING.sub(r"\1", text)
    text = readable(text)
    if not is_for_people():
        write_text(text.splitlines())
        return
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console(no_color=not has_colors())
    width = min(console.width, _WIDEST)
    with console.capture() as drawn:
        console.print(Markdown(text, hyperlinks=False), width=width)
    click.echo_via_pager(drawn.get())


def readable(text: str) -> str:
    """Return a page for readers who cannot follow its links, without the marks for the site."""
    parts = [
        block if at % 2 else _LINK.sub(_link, _MARKS.sub("", block))
        for at, block in enumerate(_BLOCK.split(text))
        if not block.startswith(_DIRECTIVE)
    ]
    return _GAP.sub("\n\n", "\n".join(part.strip("\n") + "\n" for part in parts)).strip()


def _link(match: re.Match[str]) -> str:
    """Return the text of a link, and the command that shows the page it leads to."""
    is_picture, text, target = match.groups()
    if "://" in target:
        return match[0]
    page = _PAGE.fullmatch(target)
    if is_picture or page is None or page[1] not in topics():
        return f"(picture: {text})" if is_picture else text
    shown = f"`usp help {page[1]}`"
    return shown if text.endswith(".md") else f"{text} ({shown})"
