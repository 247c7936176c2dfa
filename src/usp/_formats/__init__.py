"""From bytes to entries: unpack, decode, look at the document, parse. Pure: no I/O, no clock."""
