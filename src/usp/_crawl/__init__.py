"""The crawl: what to fetch, in which order, and how the tree is put together.

``crawl`` decides and does no I/O, with ``schedule`` and ``child_filter``; ``fetch`` receives one
document; ``thread_driver`` and ``asyncio_driver`` execute the orders of ``crawl`` by means of it.
"""

import usp._base.names  # noqa: F401 - importing it warns
