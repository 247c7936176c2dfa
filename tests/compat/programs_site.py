"""The website that ``programs.py`` runs on."""

SITE = {
    "/robots.txt": "User-agent: *\nSitemap: {base}/index.xml\nSitemap: {base}/list.txt\n",
    "/index.xml": (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
        "<sitemap><loc>{base}/blog.xml</loc></sitemap>\n"
        "<sitemap><loc>{base}/shop.xml</loc></sitemap>\n"
        "<sitemap><loc>{base}/missing.xml</loc></sitemap>\n"
        "</sitemapindex>\n"
    ),
    "/blog.xml": (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"\n'
        ' xmlns:news="http://www.google.com/schemas/sitemap-news/0.9"\n'
        ' xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">\n'
        "<url><loc>{base}/blog/1</loc><lastmod>2024-05-06</lastmod>"
        "<changefreq>daily</changefreq><priority>0.8</priority>"
        "<news:news><news:publication><news:name>The Paper</news:name>"
        "<news:language>en</news:language></news:publication>"
        "<news:publication_date>2024-05-06T07:08:09Z</news:publication_date>"
        "<news:title>One &amp; two</news:title><news:keywords>a, b</news:keywords></news:news>"
        "<image:image><image:loc>{base}/1.jpg</image:loc><image:caption>First</image:caption>"
        "</image:image></url>\n"
        "<url><loc>{base}/blog/2?a=1&amp;b=2</loc><lastmod>2020-01-01T00:00:00+00:00</lastmod>"
        "</url>\n</urlset>\n"
    ),
    "/shop.xml": (
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
        "<url><loc>{base}/shop/1</loc></url>\n<url><loc>{base}/blog/1</loc></url>\n</urlset>\n"
    ),
    "/list.txt": "{base}/text/1\n",
    "/sitemap.xml": (
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
        "<url><loc>{base}/known</loc></url>\n</urlset>\n"
    ),
    "/extra/map.xml": "{base}/extra\n",
}
