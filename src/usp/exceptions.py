"""The exceptions of the library.

::

    Exception
    ├── SitemapException              a caller's mistake, such as a homepage that is no HTTP URL
    │   └── SitemapXMLParsingException
    ├── GunzipException               data handed to ``helpers.gunzip`` is not gzip
    └── StripURLToHomepageException   a URL handed to ``helpers.strip_url_to_homepage`` has no host

What a website sends never raises: it becomes an ``InvalidSitemap`` or a ``Problem`` in the tree.
"""


class SitemapException(Exception):  # noqa: N818 - the name existing programs catch
    """A call that cannot be answered, for instance because its URL is not an HTTP URL."""


class SitemapXMLParsingException(SitemapException):
    """An XML document that cannot be read as a sitemap."""


class GunzipException(Exception):  # noqa: N818 - the name existing programs catch
    """Data that is not gzip, or more of it than allowed."""


class StripURLToHomepageException(Exception):  # noqa: N818 - the name existing programs catch
    """A URL that no homepage can be derived from."""
