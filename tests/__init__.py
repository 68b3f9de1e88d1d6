"""The promises of Headgate, each a test."""
