"""What brokers say to each other: frames, and the links that carry them."""
