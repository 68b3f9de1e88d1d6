"""Across modules: is the OpenAPI description true, whatever a client makes of it?

Schemathesis reads the description from the running broker and sends what it says is right, and what
it says is wrong. Each answer is held against the description: its status, its type, its shape.
"""

import asyncio
import sys
from pathlib import Path

from headgate.live.web.limits import WebLimits
from tests.live.web.servers import ADMIN, site

SCHEMATHESIS = Path(sys.executable).with_name("schemathesis")
CONFIG = """
[checks]
# What fits its schema may still be no filter, no rule, no event: then it is refused with 422.
positive_data_acceptance.expected-statuses = [
    "2xx", "401", "403", "404", "409", "415", "422", "426", "503",
]

# To JSON Schema `3.0` is an integer. Here it is none where a version or an offset is meant.
[[operations]]
include-name = ["POST /v1/policy/batches", "POST /v1/policy/explain",
    "POST /v1/subscriptions/{name}/acknowledge"]
checks.positive_data_acceptance.expected-statuses = [
    "2xx", "400", "401", "403", "404", "409", "415", "422", "503",
]

# It answers for as long as somebody listens.
[[operations]]
include-name = "GET /v1/subscribe"
enabled = false
"""


def test_the_description_is_true(tmp_path: Path) -> None:
    async def play() -> None:
        (tmp_path / "schemathesis.toml").write_text(CONFIG)
        async with site(tmp_path, limits=WebLimits(request_s=5)) as made:
            testing = await asyncio.create_subprocess_exec(
                str(SCHEMATHESIS), "--config-file", str(tmp_path / "schemathesis.toml"), "run",
                f"{made.url}/openapi.json",
                "--header", f"Authorization: {ADMIN['Authorization']}",
                "--max-examples", "20",
                "--seed", "1",
                "--request-timeout", "10",
                "--no-color",
                "--generation-database", "none",
                cwd=tmp_path,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
            )  # fmt: skip
            async with asyncio.timeout(300):
                said, _ = await testing.communicate()
            assert testing.returncode == 0, said.decode()[-20_000:]

    asyncio.run(play())
