"""Which of a million filters match these events? One index for brokers and for Spark."""
