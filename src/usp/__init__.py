"""Finds, fetches and reads the sitemaps of a website, and gives them back as a tree.

The front door is :func:`usp.tree.sitemap_tree_for_homepage`.
"""

__version__ = "2.0.0.dev0"
