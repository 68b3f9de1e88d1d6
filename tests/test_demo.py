"""Does the worked example come out as the paper says, and stay when it is asked to?"""

import os
import re
import signal
import ssl
import subprocess
import sys
import urllib.request
from pathlib import Path

from headgate.live.processes import Process, began, tell_to_stop, wait_until_gone

ROOT = Path(__file__).parents[1]
BOUND_S = 300


def test_the_demo_gives_everybody_what_the_versions_allow_and_is_left_running(
    tmp_path: Path,
) -> None:
    data = tmp_path / "demo"
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environ = {**os.environ, "PATH": path, "KEEP": "1", "DEMO_DATA": str(data)}
    # Into a file: the broker that stays would hold a pipe open.
    with open(tmp_path / "said", "w+") as said:
        done = subprocess.run(
            [ROOT / "examples" / "demo.sh"],
            env=environ, stdout=said, stderr=subprocess.STDOUT, timeout=BOUND_S, cwd=tmp_path,
        )  # fmt: skip
    text = (tmp_path / "said").read_text()
    assert done.returncode == 0, text
    pid = int((data / "demo.pid").read_text())
    process = Process(pid, began(pid) or "")
    try:
        assert (
            re.findall(r"(\w+) got (\d+) messages, exactly what the version", text)[0][0] == "john"
        )
        assert text.count("exactly what the version of each allows.") == 2
        starts = [int(one) for one in re.findall(r"^ +(\d+)  -- version \d begins", text, re.M)]
        assert len(starts) == 4
        assert starts == sorted(starts)
        url = re.findall(r"The broker goes on at (\S+) ", text)[0]
        trusted = ssl.create_default_context(cafile=data / "tls" / "ca.pem")
        with urllib.request.urlopen(f"{url}/health/ready", context=trusted) as answer:
            assert answer.status == 200
    finally:
        if not (tell_to_stop(process) and wait_until_gone(process, BOUND_S)):
            tell_to_stop(process, signal.SIGKILL)
