"""From what a user names to a tree: a website, a sitemap, a file, a folder, a snapshot, a pipe."""
