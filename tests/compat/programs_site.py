"""The website that ``programs.py`` runs on."""

from website import dated, index, urlset

SITE = {
    "/robots.txt": "User-agent: *\nSitemap: {base}/index.xml\nSitemap: {base}/list.txt\n",
    "/index.xml": index("/blog.xml", "/shop.xml", "/missing.xml"),
    "/blog.xml": urlset(
        '<url xmlns:news="http://www.google.com/schemas/sitemap-news/0.9"'
        ' xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">'
        "<loc>{base}/blog/1</loc><lastmod>2024-05-06</lastmod>"
        "<changefreq>daily</changefreq><priority>0.8</priority>"
        "<news:news><news:publication><news:name>The Paper</news:name>"
        "<news:language>en</news:language></news:publication>"
        "<news:publication_date>2024-05-06T07:08:09Z</news:publication_date>"
        "<news:title>One &amp; two</news:title><news:keywords>a, b</news:keywords></news:news>"
        "<image:image><image:loc>{base}/1.jpg</image:loc><image:caption>First</image:caption>"
        "</image:image></url>",
        dated("/blog/2?a=1&amp;b=2", "2020-01-01T00:00:00+00:00"),
    ),
    "/shop.xml": urlset("/shop/1", "/blog/1"),
    "/list.txt": "{base}/text/1\n",
    "/sitemap.xml": urlset("/known"),
    "/extra/map.xml": "{base}/extra\n",
}
