"""The options of a crawl: one value that every entry point takes."""

from __future__ import annotations

import inspect
import math
import re
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, TypedDict

from usp._base.display import did_you_mean
from usp.limits import DEFAULT, Limits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from os import PathLike
    from typing import TypeVar

    from usp._base.filters import Moment
    from usp.events import Listener
    from usp.helpers import RecurseCallbackType, RecurseEntryCallbackType, RecurseListCallbackType
    from usp.objects.problem import Failure

    F = TypeVar("F", bound=Callable[..., object])

__all__ = ["CommonKeywords", "CrawlOptions", "SitemapKeywords", "WebsiteKeywords"]

DEFAULT_CONCURRENCY = 8
"""Simultaneous requests to one host, unless a client is configured otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlOptions:
    """Where a crawl looks for sitemaps, which ones it follows, and how much it may use.

    Every entry point takes these as keywords, or all of them at once as ``options``; keywords given
    in addition to ``options`` take precedence. The first six are about a website and have no effect
    on a single sitemap.

    Args:
        use_robots: Look for sitemaps in robots.txt.
        use_known_paths: Look for sitemaps at well-known paths, such as ``/sitemap.xml``.
        extra_known_paths: More paths to try, relative to the homepage.
        normalize_homepage_url: Reduce the URL to scheme and host; otherwise look below its path.
        use_html_links: Look for sitemaps and feeds that the homepage and ``Link`` headers name.
        use_neighbours: Also crawl the subdomains, and languages on other hosts, that it names.
        use_html_sitemaps: Read HTML sitemaps, too: pages of links, such as ``/sitemap/``.
        use_llms_txt: Look for ``/llms.txt``, and follow the lists that such a list links to.
        recurse_callback: Called with each child's URL, its level and the URLs above it; False skips it.
        recurse_list_callback: Called first, with all children of an index; returns those to follow.
        recurse_entry_callback: Called with each child as a ``ChildSitemap``; False skips it.
        sitemaps_since: Skip children whose ``lastmod`` in the index is before this date.
        include_sitemaps: Patterns for the URLs of sitemaps; children that match none are skipped.
        exclude_sitemaps: Patterns for the URLs of sitemaps to skip, with all below them.
        limits: The :class:`usp.Limits` of the crawl; None for the default ones.
        crawl_delay: Respect the ``Crawl-delay`` of robots.txt.
        wait: Seconds between two requests to one host, which are then sent one at a time.
        keep_partial: On Ctrl-C, or a cancelled task, end with what was found so far.
        record: Write what is fetched to this file, a snapshot; needs the extra ``warc``.
        on_event: Called with each event of :mod:`usp.events`, in the calling thread.
        progress: Show progress in a terminal, on the standard error, or in a notebook.
        on_failure: Called at the end with each failure, as in ``tree.failures()``.
    """

    use_robots: bool = True
    use_known_paths: bool = True
    extra_known_paths: Iterable[str] | None = None
    normalize_homepage_url: bool = True
    use_html_links: bool = False
    use_neighbours: bool = False
    use_html_sitemaps: bool = False
    use_llms_txt: bool = False
    recurse_callback: RecurseCallbackType | None = None
    recurse_list_callback: RecurseListCallbackType | None = None
    recurse_entry_callback: RecurseEntryCallbackType | None = None
    sitemaps_since: Moment | None = None
    include_sitemaps: Sequence[str] = ()
    exclude_sitemaps: Sequence[str] = ()
    limits: Limits | None = None
    crawl_delay: bool = False
    wait: float = 0.0
    keep_partial: bool = False
    record: str | PathLike[str] | None = None
    on_event: Listener | None = None
    progress: bool = False
    on_failure: Callable[[Failure], object] | None = None

    def __post_init__(self) -> None:
        check_wait(self.wait)
        if self.limits is not None and not isinstance(self.limits, Limits):
            raise TypeError(f"limits must be usp.Limits or None, not {self.limits!r}")
        for field in fields(CrawlOptions):
            name, value = field.name, getattr(self, field.name)
            # As in 1.8.1, a flag may be anything that Python takes as true or false, but strings:
            # the word "no" would mean yes.
            if field.type == "bool" and isinstance(value, str):
                raise TypeError(f"{name} must be True or False, not {value!r}")
            is_called = name.startswith("on_") or name.endswith("_callback")
            if is_called and value is not None and not callable(value):
                raise TypeError(f"{name} must be a function or None, not {value!r}")
        extra = self.extra_known_paths
        if extra is not None:  # may be an iterator, and a set has no order of its own
            paths = () if isinstance(extra, str) else tuple(extra)
            if isinstance(extra, str) or not all(isinstance(path, str) for path in paths):
                raise TypeError(f"extra_known_paths must be a collection of strings, not {extra!r}")
            if isinstance(extra, set | frozenset):
                paths = tuple(sorted(paths))
            object.__setattr__(self, "extra_known_paths", paths)
        if self.sitemaps_since is not None or self.include_sitemaps or self.exclude_sitemaps:
            self._check_filters()

    def _check_filters(self) -> None:
        from usp._base.filters import Patterns, checked, moment  # noqa: PLC0415 - not for the help

        if self.sitemaps_since is not None:
            since = moment("sitemaps_since", self.sitemaps_since)
            object.__setattr__(self, "sitemaps_since", since)
        if self.include_sitemaps or self.exclude_sitemaps:
            for name in ("include_sitemaps", "exclude_sitemaps"):
                object.__setattr__(self, name, checked(name, getattr(self, name)))
            Patterns.of(self.include_sitemaps, self.exclude_sitemaps)

    @property
    def effective_limits(self) -> Limits:
        """The limits that apply: those given, or the default ones."""
        return self.limits or DEFAULT


def check_wait(wait: object) -> None:
    """Raise ``ValueError`` unless ``wait`` is a possible pause between requests."""
    if isinstance(wait, bool) or not isinstance(wait, int | float) or not 0 <= wait < math.inf:
        raise ValueError(f"wait must be a non-negative number of seconds, not {wait!r}")


_USUAL = CrawlOptions()


class CommonKeywords(TypedDict, total=False):
    """The options that every entry point takes by keyword only."""

    use_html_sitemaps: bool
    use_llms_txt: bool
    recurse_entry_callback: RecurseEntryCallbackType | None
    sitemaps_since: Moment | None
    include_sitemaps: Sequence[str]
    exclude_sitemaps: Sequence[str]
    limits: Limits | None
    crawl_delay: bool
    wait: float
    keep_partial: bool
    record: str | PathLike[str] | None
    on_event: Listener | None
    progress: bool
    on_failure: Callable[[Failure], object] | None


class SitemapKeywords(CommonKeywords, total=False):
    """The options for a sitemap whose URL is known."""

    recurse_callback: RecurseCallbackType | None
    recurse_list_callback: RecurseListCallbackType | None


class WebsiteKeywords(SitemapKeywords, total=False):
    """The options for the sitemaps of a website."""

    use_robots: bool
    use_known_paths: bool
    extra_known_paths: Iterable[str] | None
    normalize_homepage_url: bool
    use_html_links: bool
    use_neighbours: bool


def combined(
    options: CrawlOptions | None, keywords: Mapping[str, Any], known: type, **parameters: Any
) -> CrawlOptions:
    """Return the options of a call: ``options``, overridden by the other arguments.

    ``known`` are the keywords that the function takes; others raise ``TypeError``. ``parameters``
    have the defaults of the options; one that is left at its default changes nothing.
    """
    if options is not None and not isinstance(options, CrawlOptions):
        raise TypeError(f"options must be usp.CrawlOptions or None, not {options!r}")
    for name in keywords:
        if name not in known.__annotations__:
            names = [*parameters, *known.__annotations__]
            hint = did_you_mean(name, names) or f"the options are {', '.join(names)}"
            raise TypeError(f"got an unexpected keyword argument {name!r}; {hint}")
    changed = {
        name: value for name, value in parameters.items() if value is not getattr(_USUAL, name)
    }
    if not changed and not keywords:
        return options or _USUAL
    return replace(options or _USUAL, **changed, **keywords)


def shows(known: type, twin: object = None) -> Callable[[F], F]:
    """Return a decorator that lists these keywords in the signature of a function, for ``help``.

    Its docstring gets a line about each parameter: its own, that of its ``twin``, or the usual one.
    """
    kind = inspect.Parameter.KEYWORD_ONLY
    with_signature: Callable[[F], F] = with_keywords(
        inspect.Parameter(field.name, kind, default=field.default, annotation=field.type)
        for field in fields(CrawlOptions)
        if field.name in known.__annotations__
    )

    def decorate(function: F) -> F:
        function = with_signature(function)
        text, own = _described(function)
        if text:  # there are none with -OO, and that of a constructor is the class's
            said = _USUALLY | _described(twin)[1] | own
            lines = [f"    {name}: {said[name]}" for name in inspect.signature(function).parameters]
            function.__doc__ = "\n".join([text, "", "Args:", *lines])
        return function

    return decorate


_ARGUMENT = re.compile(r"^    (\w+): (.*(?:\n     .*)*)", re.MULTILINE)  # in a docstring


def _described(what: object) -> tuple[str, dict[str, str]]:
    """Return a docstring up to its arguments, and what it says about each of them."""
    text, _, said = inspect.cleandoc(getattr(what, "__doc__", None) or "").partition("\n\nArgs:\n")
    return text, dict(_ARGUMENT.findall(said))


_USUALLY = {
    "homepage_url": "The website, by the URL of its homepage.",
    "url": "The URL of the sitemap.",
    "web_client": "Sends the requests; by default a client that is created for the call.",
    "options": "A :class:`usp.CrawlOptions`; options that are given as well take precedence.",
    **_described(CrawlOptions)[1],
}
"""What is said about the parameters that all entry points have."""


def with_keywords(listed: Iterable[inspect.Parameter]) -> Callable[[F], F]:
    """Return a decorator that lists parameters in the signature of a function, for ``**keywords``."""
    keywords = list(listed)

    def decorate(function: F) -> F:
        signature = inspect.signature(function)
        written = list(signature.parameters.values())[:-1]
        function.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[*written, *keywords]
        )
        return function

    return decorate
