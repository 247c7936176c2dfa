"""The crawl: what to fetch, in which order, and how the tree is put together.

``crawl`` decides and does no I/O; ``fetch`` does what it says, one document at a time; ``threads``
drives both. ``retry`` says whether to ask again, ``known_paths`` where sitemaps usually are.
"""

import usp._compat.other_distribution  # noqa: F401
