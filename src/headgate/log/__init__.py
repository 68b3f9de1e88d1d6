"""What is written down: records in streams, their digests, and what keeps them."""
