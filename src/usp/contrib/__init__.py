"""Entry points for users of other libraries; each needs its library, and nothing else loads it."""
