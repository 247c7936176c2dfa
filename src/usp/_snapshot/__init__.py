"""Snapshots: the documents of a crawl in a WARC file; recorded, replayed, updated."""
