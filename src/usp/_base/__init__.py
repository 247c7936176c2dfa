"""What every layer uses: dates, URLs, text for people, logs, shortage of resources."""
