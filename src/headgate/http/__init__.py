"""What do HTTP requests and replies say? Bytes to values and back, without a socket."""
