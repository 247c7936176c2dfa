"""Arguments and options that several commands share; how values are read is in ``option_values``.

They are declared without loading what they are for: the help needs none of it.
"""

from __future__ import annotations

from functools import partial, update_wrapper
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import rich_click as click
from click import get_current_context
from click.core import ParameterSource

from usp._base.files import suffix_of
from usp._base.names import COMPUTED_COLUMNS, PAGE_COLUMNS
from usp.cli import option_values
from usp.cli.cli import FILTERS, MESSAGES, REQUESTS, WEBSITE, Command
from usp.cli.errors import CONFIG_FILE, messages
from usp.cli.option_values import Choice, Integer, Number
from usp.cli.output import logging_to
from usp.limits import DEFAULT
from usp.options import DEFAULT_CONCURRENCY, CrawlOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    # For the signatures of commands, too.
    from usp._inputs import Input as Input  # noqa: PLC0414
    from usp.cli.run_options import RunOptions as RunOptions  # noqa: PLC0414
    from usp.limits import Limits
    from usp.selection import Selection

    F = TypeVar("F", bound=Callable[..., Any])

COLUMNS = (*PAGE_COLUMNS, *COMPUTED_COLUMNS)
_TYPES = {"N": Integer(1), "SECONDS": Number(0, min_open=True), "TIME": option_values.interval}
"""What a value is, by its name in the help; any other is a text."""

_BY_ENVIRONMENT = frozenset(
    {
        *("user_agent", "timeout", "wait", "ca_bundle", "insecure", "proxy", "max"),
        *("allow_network", "concurrency", "strict", "log_format"),
    }
)
"""Options that variables such as ``USP_TIMEOUT`` set, too."""


def table(
    texts: dict[str, str], panel: str | None = None, **settings: dict[str, Any]
) -> Callable[[F], F]:
    """Return a decorator with options, each as it is written in the help, and its text there.

    One without a value or a type is a flag; one whose value has dots, as in ``-H --header
    NAME:VALUE...``, can be repeated. A default is shown. ``settings`` has what else click gets for
    an option, by its name; ``name`` is that of the parameter, if it is another one.
    """
    options = [_option(written, text, panel, settings) for written, text in texts.items()]
    assert not settings, f"of options that are not there: {', '.join(settings)}"
    return partial(with_options, options=options)


def _option(
    written: str, text: str, panel: str | None, settings: dict[str, dict[str, Any]]
) -> Callable[[F], F]:
    *spelled, last = written.split()
    value = "" if last.startswith("-") else last.removesuffix("...")
    spelled += [] if value else [last]
    key = next(one[2:].replace("-", "_") for one in spelled if one.startswith("--"))
    own = settings.pop(key, {})
    given: dict[str, Any] = {
        "help": text,
        "panel": panel,
        "metavar": value or None,
        "type": _TYPES.get(value),
        "is_flag": not value and not own.keys() & {"type", "count"},
        "multiple": last.endswith("..."),
        "show_default": "default" in own,
        "envvar": f"USP_{key.upper()}" if key in _BY_ENVIRONMENT else None,
    } | own
    return click.option(*spelled, given.pop("name", key), **given)


def with_options(command: F, options: Sequence[Callable[[F], F]]) -> F:
    """Return a command with these options, in the order in which the help lists them."""
    for one in reversed(options):
        command = one(command)
    return command


command = partial(click.command, cls=Command)


# What every command has ---------------------------------------------------------------------------


def _set_log_format(_: click.Context, __: click.Parameter, value: str | None) -> None:
    if value is not None:
        messages.as_json = value == "json"


def _set_quiet(_: click.Context, __: click.Parameter, value: bool) -> None:
    messages.quiet = value


def _configure(ctx: click.Context, _: click.Parameter, named: str | None) -> None:
    """Take the defaults of a command from the configuration file, before its options are read."""
    if ctx.resilient_parsing:
        return
    from usp.cli import config
    from usp.cli.commands import COMMANDS

    folder = Path.cwd()
    file, notices = (config.read_named(Path(named)), []) if named else config.find(folder)
    if file is not None:
        name = ctx.command.name or ""
        ctx.meta[CONFIG_FILE] = file.path
        ctx.default_map, more = config.defaults(file, name, COMMANDS, folder)
        notices = [*notices, *more]
    for notice in notices:
        messages.notice(notice)


_EAGER = {"is_eager": True, "expose_value": False}
log_format: Callable[[F], F] = table(
    {
        "--log-format": "Write all messages to standard error as text, or as JSON: an object per line."
    },
    MESSAGES,
    log_format=_EAGER | {"callback": _set_log_format, "type": Choice(["text", "json"])},
)
common_options: Callable[[F], F] = partial(
    with_options,
    options=[
        table(
            {
                "--config FILE": "Read options from this file, and only from it, instead of usp.toml "
                "or pyproject.toml.",
                "-q --quiet": "Show no progress and no notices.",
            },
            MESSAGES,
            config=_EAGER | {"callback": _configure},
            quiet={"expose_value": False, "callback": _set_quiet},
        ),
        log_format,
    ],
)
"""The options of every command that reads a configuration file; that comes first: it may set others."""


# What to read, and where to write -----------------------------------------------------------------


def input_type(text: str) -> Input:
    """Return what a user named: a website, a sitemap, a file, a folder or the standard input."""
    from usp._base.urls import BadUrl, redact_url
    from usp._inputs import read_input

    try:
        return read_input(text)
    except BadUrl:
        raise click.UsageError(
            f"{redact_url(text)!r} is neither an HTTP URL nor an existing file or folder; "
            "use for example https://example.org"
        ) from None


url_argument = click.argument("start", metavar="URL", type=input_type)


def output(text: str, *, must_be_file: bool = False, **settings: Any) -> Callable[[F], F]:
    """Return the option for the file that a command writes."""
    path = option_values.new_path if must_be_file else option_values.output_file
    return table({"-o --output FILE": text}, output={"type": path, **settings})


def results(
    choices: Sequence[str],
    text: str,
    output_text: str = "Write to this file, whose suffix sets the format; .gz compresses it.",
    old: Sequence[str] = (),
    **settings: Any,
) -> Callable[[F], F]:
    """Return the options for the format in which a command writes, as ``form``, and for its file."""
    usual = {"name": "form", "type": Choice(choices, old), "show_default": False}
    form: Callable[[F], F] = table({"-f --format": text}, format=usual | settings)
    return partial(with_options, options=[form, output(output_text)])


def format_for(
    target: Path | None,
    given: str | None,
    forms: Sequence[str],
    usual: str,
    *,
    is_needed: bool = True,
) -> str:
    """Return the format that was given, or one of ``forms`` by the suffix of a file.

    The suffix counts more than a configuration file. Without either it is the ``usual`` one, which is
    not enough for a file if one ``is_needed``.
    """
    source = get_current_context().get_parameter_source("form")
    if target is not None and (given is None or source is ParameterSource.DEFAULT_MAP):
        suffixes = {end: form for form in forms for end in _SUFFIXES.get(form, (f".{form}",))}
        given = suffixes.get(suffix_of(target), given)
        if given is None and is_needed:
            known = ", ".join(suffixes)
            reason = f"no format given for {target.name!r}; use -f, or one of the suffixes {known}"
            raise option_values.bad_value("--output", reason)
    return given or usual


_SUFFIXES = {
    **dict.fromkeys(("text", "pages"), (".txt",)),
    "junit": (".xml",),
    "markdown": (".md",),
    "dot": (".dot", ".gv"),
    "mermaid": (".mmd", ".mermaid"),
    "github": (),  # only for the log of a run
}
"""The suffixes of formats that are not their names; of several formats, the last one counts."""


# How requests are made ----------------------------------------------------------------------------


_website_options = table(
    {
        "-r --no-robots": "Do not look for sitemaps in robots.txt.",
        "-k --no-known": "Do not look for sitemaps at well-known paths.",
        "--known-path PATH...": "Also look for a sitemap at this path of the website, such as "
        "maps/all.xml.",
        "--html-links": "Also follow sitemaps and feeds that the homepage links to, and Link headers.",
        "--neighbours": "Also read the subdomains that the website names, and its languages on other "
        "hosts, as websites of their own.",
        "--html-sitemaps": "Also read HTML sitemaps: pages of links, such as /sitemap/.",
        "--llms-txt": "Also look for /llms.txt, and follow the lists that it links to.",
    },
    WEBSITE,
    known_path={"name": "known_paths"},
)
_SET_A_LIMIT = (
    "Set a limit, for example pages=1000, seconds=60, document_bytes=10MiB or depth=3; 'none' "
    "removes it."
)
_ALLOW = "Allow connections to this private network, address or host ('any': all of them)."
log_options = table(
    {
        "-v --verbose": "Log more: -v logs each step, -vv every detail.",
        "-l --log-file FILE": "Append the log to this file instead of showing it.",
    },
    MESSAGES,
    verbose={"count": True, "metavar": ""},
    log_file={"type": click.Path(dir_okay=False, path_type=Path)},
)
concurrency = table(
    {"--concurrency N": "Maximum number of simultaneous requests to one host."},
    REQUESTS,
    concurrency={"type": Integer(1, 64), "default": DEFAULT_CONCURRENCY},
)


def request_options(
    *, limits: str = _SET_A_LIMIT, networks: str = "", patience: float = 60
) -> Callable[[F], F]:
    """Return a decorator with the options of every command that sends requests.

    :func:`read_requests` reads them. ``limits``, ``networks`` and ``patience`` are for the help of
    ``--max``, ``--allow-network`` and ``--timeout``.
    """
    texts = {
        "--user-agent NAME": "User-Agent header to send.",
        "--timeout SECONDS": "Time to wait for a connection, and for each part of a response. "
        f"Default: 9 for a connection, {patience:g} for a part.",
        "--wait SECONDS": "Pause between requests to the same host, which are then sent one at a "
        "time.",
        "--crawl-delay": "Respect Crawl-delay in robots.txt.",
        "--ca-bundle FILE": "Trust the certificate authorities in this PEM file or folder.",
        "--insecure": "Do not verify TLS certificates.",
        "-H --header NAME:VALUE...": "Additional header to send. Headers that may hold secrets are "
        "sent to the website's own host only.",
        "--proxy URL": "Send all requests through this proxy.",
        "--max NAME=VALUE...": f"{limits} Names: {', '.join(option_values.LIMIT_NAMES)}.",
        "--allow-network NET...": f"{_ALLOW} {networks}".rstrip(),
    }
    requests: Callable[[F], F] = table(
        texts,
        REQUESTS,
        wait={"type": Number(0, 86_400), "default": 0.0, "show_default": False},
        ca_bundle={"type": click.Path(exists=True, path_type=Path)},
        header={"name": "headers"},
        max={"name": "limits"},
    )
    return partial(with_options, options=[_website_options, requests])


def read_requests(
    values: dict[str, Any], usual: Limits = DEFAULT, *, trust_start: bool = True
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Take the values of :func:`request_options` out: the options of a crawl, and of its client.

    ``usual`` are the limits of the command.
    """
    crawl = {
        "limits": option_values.read_limits(values.pop("limits"), usual),
        "use_robots": not values.pop("no_robots"),
        "use_known_paths": not values.pop("no_known"),
        "extra_known_paths": values.pop("known_paths") or None,
        "use_html_links": values.pop("html_links"),
        "use_neighbours": values.pop("neighbours"),
        "use_html_sitemaps": values.pop("html_sitemaps"),
        "use_llms_txt": values.pop("llms_txt"),
        "crawl_delay": values.pop("crawl_delay"),
        "wait": values.pop("wait"),
    }
    client = {
        "zones": option_values.read_zones(values.pop("allow_network"), trust_start=trust_start),
        "headers": dict(map(option_values.read_header, values.pop("headers"))),
        "proxy": option_values.read_proxy(values.pop("proxy")),
        "verify": option_values.read_verify(
            values.pop("ca_bundle"), insecure=values.pop("insecure")
        ),
        "user_agent": values.pop("user_agent"),
    }
    timeout = values.pop("timeout")
    return crawl, client if timeout is None else client | {"timeout": timeout}


# A crawl of one website ---------------------------------------------------------------------------


accept = table(
    {
        "--max-removed SHARE": "Change nothing if more than this share of the pages would be gone.",
        "--accept": "Take the website as it is now, however many pages are gone.",
    },
    max_removed={"type": option_values.share, "default": "50%"},
)


def _site_in_file(text: str) -> str:
    """Return what ``--site`` names; without a scheme, the file shows which one it has."""
    url = input_type(text).url
    return url if "://" in text else url.partition("://")[2]


_RUN_OPTIONS = [
    request_options(),
    concurrency,
    table(
        {"--site URL": "Website or sitemap to read from a WARC file that has several."},
        WEBSITE,
        site={"type": _site_in_file},
    ),
    table(
        {
            "--keep-partial": "After Ctrl-C, keep what was found so far.",
            "--strict": "Exit with status 3 if any sitemap is missing or incomplete.",
        },
        MESSAGES,
    ),
    log_options,
    common_options,
]
_AS_GIVEN = ("strict", "verbose", "log_file", "site")


def run_options(command: F) -> F:
    """Return a command with the options of a crawl; it receives them as ``run``."""

    def collected(**values: Any) -> Any:
        from usp.cli.run_options import RunOptions

        crawl, client = read_requests(values)
        client["max_concurrent_requests"] = values.pop("concurrency")
        options = CrawlOptions(**crawl, keep_partial=values.pop("keep_partial"))
        run = RunOptions(options, client, **{name: values.pop(name) for name in _AS_GIVEN})
        _check_inputs(run.site, values)
        messages.logs = run.log_file is not None and not messages.as_json
        if run.log_file is None:
            return command(run=run, **values)
        with logging_to(run.log_file, run.verbose):
            return command(run=run, **values)

    result: Any = update_wrapper(collected, command)
    return with_options(result, _RUN_OPTIONS)  # type: ignore[no-any-return]


def _check_inputs(site: str | None, values: Mapping[str, Any]) -> None:
    """Refuse to read the standard input twice, and ``--site`` without a file with several websites."""
    from usp._inputs import Input

    given = chain.from_iterable(
        one if isinstance(one, tuple) else (one,) for one in values.values()
    )
    named = [one for one in given if isinstance(one, Input)]
    if sum(one.is_stdin for one in named) > 1:
        raise click.UsageError("only one input can be standard input")
    if site is not None and not any(one.is_snapshot for one in named):
        raise click.UsageError(
            "--site chooses a website in a WARC or WACZ file of another program, and no such file is "
            "read here; name the website itself, as in 'usp tree https://example.org'"
        )


# Which pages --------------------------------------------------------------------------------------


filter_options = table(
    {
        "--since DATE": "Only pages last modified (else published) on this date or later: 2025, "
        "2025-01-31, or 12h, 7d, 4w ago. Sitemaps older by their index are not downloaded.",
        "--until DATE": "Only pages last modified on or before this date.",
        "--dated": "Leave out pages without a date, too.",
        "--include PATTERN...": "Only pages whose URL matches: '*/blog/*', '/blog/*' from the start "
        "of the path, or 're:/20[0-9]{2}/', a regular expression. 'sitemap:*news*' matches the URL of "
        "the sitemap; others are not downloaded.",
        "--exclude PATTERN...": "Leave out pages that match.",
        "--no-skip": "Also download sitemaps that these rule out.",
        "--unique": "Each URL once, even if several sitemaps have it.",
        "--same-host": "Only pages on the website's own host.",
    },
    FILTERS,
)


def read_selection(values: dict[str, Any], **more: Any) -> Selection | None:
    """Take the filters out of the values; return them, or None if every page is wanted.

    ``no_skip`` stays there.
    """
    from usp.selection import Selection

    names = ("since", "until", "include", "exclude", "unique", "same_host")
    given = {name: values.pop(name) for name in names} | more
    try:
        selection = Selection(**given, keep_undated=not values.pop("dated"))
    except ValueError as error:  # which names the parameters
        message = f"--{error}".replace("after until", "after --until")
        raise click.UsageError(message) from error
    return None if selection.takes_all else selection
