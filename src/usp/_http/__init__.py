"""What the HTTP clients share: who they are, redirects, cookies, encodings, failures."""
