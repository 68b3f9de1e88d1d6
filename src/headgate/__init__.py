"""Headgate: content-based publish/subscribe for those who share streams, but not everything."""
