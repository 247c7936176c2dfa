"""Entries of sitemaps to serve, beside those of ``website``."""

from website import robots, urlset

NEWS = 'xmlns:news="http://www.google.com/schemas/sitemap-news/0.9"'
ONE_PAGE = {"/robots.txt": robots("/a.xml"), "/a.xml": urlset("/tea")}


def dated(url: str, date: str, tag: str = "url") -> str:
    return f"<{tag}><loc>{url}</loc><lastmod>{date}</lastmod></{tag}>"


def story(url: str, title: str, date: str) -> str:
    return urlset(
        f"<url {NEWS}><loc>{url}</loc><news:news><news:publication>"
        "<news:name>The Tea Post</news:name><news:language>en</news:language></news:publication>"
        f"<news:publication_date>{date}</news:publication_date><news:title>{title}</news:title>"
        "</news:news></url>"
    )
