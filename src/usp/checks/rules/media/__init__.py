"""Rules about images and videos."""

from usp.checks.rules.media import images, video_locations, video_values

__all__ = ["images", "video_locations", "video_values"]
