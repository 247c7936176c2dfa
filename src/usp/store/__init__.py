"""Where fetched documents are kept, as the bytes that were received."""

from usp.store.document import Document, Exchange
from usp.store.store import SpoolFull, Store, Writer

__all__ = ["Document", "Exchange", "SpoolFull", "Store", "Writer"]
