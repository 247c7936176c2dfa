"""What every layer uses and knows none: dates, URLs, text for people, logs, shortage of resources."""
