"""XML as websites write it: a tolerant scanner, namespaces, and what all XML parsers share."""
