"""HTTP clients: the interface a user's own client implements, and the one on ``requests``."""
