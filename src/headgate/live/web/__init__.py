"""How is a broker reached over HTTP? A server on aiohttp that decides nothing by itself."""
