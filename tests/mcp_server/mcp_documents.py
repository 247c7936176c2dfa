"""Sitemaps to serve."""

NAMESPACES = (
    'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" '
    'xmlns:news="http://www.google.com/schemas/sitemap-news/0.9"'
)


def urlset(*pages: tuple[str, str]) -> str:
    """Write pages, each with its lastmod, which may be empty."""
    return f"<urlset {NAMESPACES}>{''.join(map(entry, pages))}</urlset>"


def entry(page: tuple[str, str]) -> str:
    url, date = page
    lastmod = f"<lastmod>{date}</lastmod>" if date else ""
    return f"<url><loc>{url}</loc>{lastmod}</url>"


def story(url: str, title: str, date: str) -> str:
    return (
        f"<urlset {NAMESPACES}><url><loc>{url}</loc><news:news><news:publication>"
        "<news:name>The Tea Post</news:name><news:language>en</news:language></news:publication>"
        f"<news:publication_date>{date}</news:publication_date><news:title>{title}</news:title>"
        "</news:news></url></urlset>"
    )


def index(*sitemaps: str | tuple[str, str]) -> str:
    pairs = [(one, "") if isinstance(one, str) else one for one in sitemaps]
    listed = (entry(pair).replace("url>", "sitemap>") for pair in pairs)
    return f"<sitemapindex {NAMESPACES}>{''.join(listed)}</sitemapindex>"


def robots(*sitemaps: str) -> str:
    return "".join(f"Sitemap: {sitemap}\n" for sitemap in sitemaps)
