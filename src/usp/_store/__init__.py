"""Where fetched documents are kept, as the bytes that were received."""

from usp._store.document import Document
from usp._store.store import SpoolFull, Store, Writer

__all__ = ["Document", "SpoolFull", "Store", "Writer"]
