"""The commands of docs/getting-started.md, as they stand there, in their order."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path

from support import BUILD, ROOT

SERVERS = ("euvyrad --data", "euvyra-agent ")


def commands() -> list[str]:
    """Lines of the indented-by-nothing code blocks that call one of our programs."""
    text = (ROOT / "docs/getting-started.md").read_text()
    blocks = re.findall(r"^```\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line.startswith("euvyra")]


def test_getting_started_works_as_written(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "train.py").write_text(
        "import euvyra\nrun = euvyra.init(name='first')\nrun.log({'loss': 0.5})\nrun.finish()\n"
    )
    lines = commands()
    assert len(lines) >= 9, lines
    # The page starts the server first and shows the way without a browser after it: set up first.
    lines.sort(key=lambda line: not line.startswith("euvyrad setup"))
    env = {
        **os.environ,
        "PATH": f"{BUILD}:{ROOT / '.venv/bin'}:{os.environ['PATH']}",
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
    }
    for name in ("EUVYRA_SERVER", "EUVYRA_API_KEY", "EUVYRA_API_KEY_FILE", "EUVYRA_PROJECT"):
        env.pop(name, None)
    background: list[subprocess.Popen[str]] = []
    url = ""
    try:
        for line in lines:
            line = line.replace("/var/lib/", f"{tmp_path}/")
            if line.startswith("euvyrad --data"):
                line += " --listen 127.0.0.1:0"  # another server may have the usual port
            if url:
                line = line.replace("http://127.0.0.1:8470", url)
            if line.startswith("euvyra-agent") and os.geteuid() == 0:
                line += " --allow-root"
            words = line.split()
            if line.startswith(SERVERS):
                child = subprocess.Popen(
                    words, env=env, cwd=folder, text=True, stdout=subprocess.PIPE
                )
                background.append(child)
                if words[0] == "euvyrad":
                    assert child.stdout
                    url = child.stdout.readline().split("listens on ")[1].strip()
                continue
            done = subprocess.run(words, env=env, cwd=folder, text=True, capture_output=True)
            if words[:2] == ["euvyra", "sync"]:
                assert done.returncode == 4, done  # nothing was recorded here: it says so
                continue
            assert done.returncode == 0, (line, done.stdout, done.stderr)
        shown = subprocess.run(
            ["euvyra", "runs", "--project", "demo"], env=env, text=True, capture_output=True
        )
        assert "finished" in shown.stdout, shown
    finally:
        for child in reversed(background):
            child.send_signal(signal.SIGTERM)
            child.wait(60)
            if child.stdout:
                child.stdout.close()
