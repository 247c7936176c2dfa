"""The examples in the docstrings of rules, as websites: how they are written, and how they are read.

An example is a website, or a part of one:

- entries (``<url>…</url>``) are put into a sitemap, which the website's robots.txt declares, those of an
  index (``<sitemap>…</sitemap>``) into an index;
- a document that begins otherwise is that sitemap;
- lines such as ``--- /robots.txt`` begin a document each, beside that sitemap if it comes before them;
  ``--- https://…`` is one of another host. A status may follow (``--- /sitemap.xml 404``), or
  ``--- /a.xml -> /b.xml`` for a redirect, and ``(declared)`` if the website's robots.txt declares it;
  then lines ``Header: value`` up to an empty one. A line ``(as latin-1, gzip)`` says how the body is
  encoded and compressed; without it, what is called ``.gz`` is compressed, and all is UTF-8.

Everywhere, ``{now}`` is the time of the check, ``{now-3d}`` three days before it, ``{day-3d}`` the same
without the time; ``{a*2000}`` is a text so often; a line that ends with ``(x 50001)`` is repeated so
often, with ``{n}`` as its number.
"""

import gzip
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import memory_web
import usp
from memory_web import Doc, Web

HOME = "https://example.org"
ROBOTS = "User-agent: *\nAllow: /\n"
SPACES = {
    "": "http://www.sitemaps.org/schemas/sitemap/0.9",
    ":image": "http://www.google.com/schemas/sitemap-image/1.1",
    ":news": "http://www.google.com/schemas/sitemap-news/0.9",
    ":video": "http://www.google.com/schemas/sitemap-video/1.1",
    ":xhtml": "http://www.w3.org/1999/xhtml",
}
TYPES = {
    "xml": "application/xml",
    "txt": "text/plain; charset=utf-8",
    "gz": "application/gzip",
    "rss": "application/rss+xml",
    "atom": "application/atom+xml",
}
_DOCUMENT = re.compile(r"^--- (\S+)(?: -> (\S+))?(?: ([0-9]{3}))?( \(declared\))?$", re.MULTILINE)
_BODY = re.compile(r"\(as ([a-z0-9, -]+)\)\n")
_HEADERS = re.compile(r"(?!User-agent)((?:[A-Z][A-Za-z-]+: .*\n)+)\n")


class Client(memory_web.Client):
    """A client for one example, whose documents are by their URLs."""

    def __init__(self, replies):
        super().__init__(Web(replies, ""), 1)
        self.requested = self.web.asked


def replies_of(example: str, now: datetime | None = None) -> dict[str, Doc]:
    """Return the documents of an example by their URLs."""
    start, *parts = _DOCUMENT.split(filled(example, now or datetime.now(UTC)))
    found, declared = {}, []
    if start.strip() or not parts:
        found[f"{HOME}/sitemap.xml"] = _reply("/sitemap.xml", start)
        declared.append(f"{HOME}/sitemap.xml")
    for path, leads_to, status, is_declared, body in zip(*[iter(parts)] * 5, strict=True):
        found[_url(path)] = _reply(path, body.lstrip("\n"), leads_to, int(status or 200))
        declared += [_url(path)] * bool(is_declared)
    if declared:
        robots = ROBOTS + "".join(f"Sitemap: {url}\n" for url in declared)
        found = {f"{HOME}/robots.txt": _reply("/robots.txt", robots)} | found
    return found


def _url(path: str) -> str:
    return HOME + path if path.startswith(("/", ".")) else path


def _reply(path: str, body: str, leads_to: str | None = None, status: int = 200) -> Doc:
    headers = {"Content-Type": TYPES.get(path.rpartition(".")[2], "text/html")}
    given = _HEADERS.match(body)
    if given:
        headers |= dict(line.split(": ", 1) for line in given[1].splitlines())
        body = body[given.end() :]
    encoding, *layers = ["utf-8", "gzip"] if path.endswith(".gz") else ["utf-8"]
    told = _BODY.match(body)
    if told:
        encoding, *layers = told[1].split(", ")
        body = body[told.end() :]
    data = wrapped(body).encode(encoding)
    for _ in layers:
        data = gzip.compress(data)
    return Doc(data, status, None if leads_to is None else _url(leads_to), headers)


def wrapped(text: str) -> str:
    """Return entries as a document; one that is whole as it is."""
    root = {"<url>": "urlset", "<sitemap>": "sitemapindex"}.get(
        text.lstrip().partition(">")[0] + ">"
    )
    if root is None:
        return text
    spaces = " ".join(f'xmlns{name}="{uri}"' for name, uri in SPACES.items())
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<{root} {spaces}>\n{text}\n</{root}>\n'


_TIME = re.compile(r"\{(now|day)(?:([+-]\d+)([dhm]))?\}")
_TIMES = re.compile(r"\{([^{}*]+)\*([\d,]+)\}")
_LINES = re.compile(r"^(.*?)\s*\(x ([\d,]+)\)$", re.MULTILINE)
_UNITS = {"d": "days", "h": "hours", "m": "minutes"}


def filled(text: str, now: datetime) -> str:
    """Return an example with its times and repetitions."""

    def moment(found):
        shift = timedelta(**{_UNITS[found[3]]: int(found[2])}) if found[2] else timedelta()
        when = (now + shift).replace(microsecond=0)
        return when.date().isoformat() if found[1] == "day" else when.isoformat()

    def lines(found):
        count = int(found[2].replace(",", ""))
        return "\n".join(found[1].replace("{n}", str(n)) for n in range(count))

    text = _TIME.sub(moment, text)
    text = _TIMES.sub(lambda found: found[1] * int(found[2].replace(",", "")), text)
    return _LINES.sub(lines, text)


def tree_of(example: str, client: Client | None = None):
    """Return the tree of an example."""
    return usp.sitemap_tree_for_homepage(f"{HOME}/", client or Client(replies_of(example)))


def found_in(example: str, **options):
    """Return what a check finds in an example.

    Its documents may be files: ``--- ./sitemap.xml``, beside them ``--- ../against.txt`` and
    ``--- ../before/sitemap.xml``.
    """
    if not example.lstrip().startswith("--- ./"):
        client = Client(replies_of(example))
        return list(usp.check(tree_of(example, client), client, **options))
    with TemporaryDirectory() as top:
        folder = Path(top) / "site"
        for url, reply in replies_of(example).items():
            file = folder / url.removeprefix(HOME)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(reply.body)
        others = {"against": folder / "../against.txt", "compare": folder / "../before"}
        options |= {name: path for name, path in others.items() if path.exists()}
        return list(usp.check(folder, **options))


def found_in_file(path: Path, text: str, **options):
    """Return what a check finds in a file with this text, entries or a document."""
    path.write_text(wrapped(text), encoding="utf-8")
    return list(usp.check(path, **options))


def codes_in(example: str, **options) -> list[str]:
    """Return the codes of what a check finds in an example."""
    return [finding.code for finding in found_in(example, **options)]


def found_at(path: str, reply: Doc) -> list[usp.checks.Finding]:
    """Return what is found in a sitemap alone."""
    url = f"{HOME}/{path}"
    return list(usp.check(usp.sitemap_tree_for_sitemap(url, Client({url: reply}))))


def locs(*urls: str) -> str:
    """Return entries of a sitemap; what begins with a slash is a path of the website."""
    return "\n".join(f"<url><loc>{_url(url)}</loc></url>" for url in urls)


def index(*urls: str) -> str:
    """Return entries of an index, in the same way."""
    return "\n".join(f"<sitemap><loc>{_url(url)}</loc></sitemap>" for url in urls)


def dated(*texts: str, path: str = "/") -> str:
    """Return entries with dates."""
    return "\n".join(
        f"<url><loc>{HOME}{path}{at}</loc><lastmod>{text}</lastmod></url>"
        for at, text in enumerate(texts)
    )


def dated_index(text: str, *pages: str) -> str:
    """Return an index of one sitemap, with its date, and with pages that have dates."""
    entry = index("/teas.xml").replace("</loc>", f"</loc><lastmod>{text}</lastmod>")
    return f"{website(entry)}\n--- /teas.xml\n{dated(*pages)}"


def linked(url: str, *links: str) -> str:
    """Return an entry with links, each written as a code, a blank and a URL or path."""
    pairs = (link.partition(" ")[::2] for link in links)
    inside = "".join(
        f'<xhtml:link rel="alternate" hreflang="{code}" href="{_url(to)}"/>' for code, to in pairs
    )
    return locs(url).replace("</url>", f"{inside}</url>")


def with_robots(text: str, sitemap: str) -> str:
    """Return a website with this robots.txt, which declares its sitemap too, and this sitemap."""
    return f"--- /robots.txt\n{text}\nSitemap: {HOME}/sitemap.xml\n--- /sitemap.xml\n{sitemap}"


def website(*bodies: str) -> str:
    """Return a website with these sitemaps, ``/0.xml`` and so on, all of them declared."""
    return "\n".join(f"--- /{at}.xml (declared)\n{body}" for at, body in enumerate(bodies))
