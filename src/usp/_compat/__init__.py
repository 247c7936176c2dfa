"""What programs for ultimate-sitemap-parser 1.8.1 use, made of today's parts."""
