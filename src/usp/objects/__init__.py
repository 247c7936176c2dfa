"""Values (pages, stories, images, videos, problems) and the nodes of the sitemap tree."""
