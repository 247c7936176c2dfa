"""What is here only because programs written for ultimate-sitemap-parser 1.8.1 expect it."""
