"""euvyra.launch() against a real server and a real agent."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import euvyra
import pytest
from agents import Agent
from support import BUILD, Server


@pytest.fixture(autouse=True)
def environment(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EUVYRA_BIN", str(BUILD / "euvyra"))
    monkeypatch.setenv("EUVYRA_SERVER", server.url)
    monkeypatch.setenv("EUVYRA_API_KEY", server.key)
    monkeypatch.setenv("EUVYRA_PROJECT", "demo")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def test_a_job_is_launched_with_its_folder_and_waited_for(server: Server, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "train.py").write_text("print('grüße')\n")
    with Agent(server, tmp_path / "agent"):
        job = euvyra.launch(
            {"command": ["python3", "train.py"], "config": {"lr": 0.1, "word": "ü😀"}},
            name="train",
            tags=["a"],
            cwd=str(folder),
        )
        assert job.wait(60) == "succeeded"
    shown = server.ok("GET", f"/api/v1/jobs/{job.id}")
    assert (shown["name"], shown["run"]) == ("train", job.run)
    assert shown["spec"]["config"] == {"lr": 0.1, "word": "ü😀"}
    assert server.send("GET", f"/api/v1/runs/{job.run}/console").body == "grüße\n".encode()


def test_an_array_and_one_after_it(server: Server) -> None:
    array = euvyra.launch(
        {"command": ["true"], "image": "python:3.12"},
        array={"from": 0, "to": 4, "limit": 2},
        code=False,
    )
    assert "image" in array.warnings[0]
    after = euvyra.launch(
        {"command": ["true"]}, after=[{"job": array.id}], held=True, priority=3, code=False
    )
    assert (array.status(), after.status()) == ("queued", "held")
    with pytest.raises(TimeoutError):
        array.wait(0)
    array.cancel()
    assert array.wait(30) == "failed"
    assert array.show()["array"]["states"] == {"cancelled": 5}


def test_what_is_refused_is_raised_with_the_words_of_the_server() -> None:
    with pytest.raises(euvyra.Error, match=r"spec\.privileged"):
        euvyra.launch(cast(Any, {"command": ["true"], "privileged": True}), code=False)
    with pytest.raises(euvyra.InvalidError):
        euvyra.launch({"command": ["true"], "config": {"x": float("nan")}}, code=False)
