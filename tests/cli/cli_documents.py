"""Sitemaps to serve."""

URLSET = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{}</urlset>'
INDEX = '<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{}</sitemapindex>'


def urlset(*urls: str) -> str:
    return URLSET.format("".join(f"<url><loc>{url}</loc></url>" for url in urls))


def index(*urls: str) -> str:
    return INDEX.format("".join(f"<sitemap><loc>{url}</loc></sitemap>" for url in urls))
