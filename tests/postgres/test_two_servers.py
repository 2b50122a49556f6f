"""Two servers on one database: one run through both, one leader, notices across, claims raced."""

from __future__ import annotations

import functools
import http.client
import random
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from agents import Agent
from support import Answer, Log, Server, crc32c, make_id, wait_for

POINTS = 3000


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[Server, Server]]:
    """Two servers of one database and one folder of files, with the project demo."""
    blobs = ("--blobs", str(tmp_path / "blobs"))
    with (
        Server(tmp_path / "a", *blobs) as a,
        Server(tmp_path / "b", *blobs, database=a.database) as b,
    ):
        a.ok("PUT", "/api/v1/projects/demo", {})
        yield a, b


def query(server: Server, run: str, **more: Any) -> dict[str, Any]:
    body = {"runs": [run], "metrics": ["loss"], "buckets": 4096, **more}
    series = server.ok("POST", "/api/v1/projects/demo/metrics/query", body)["series"]
    return dict(series[0]) if series else {}


def long_log() -> tuple[Log, list[int]]:
    """A log of POINTS rows, and where its records end."""
    log = Log()
    log.start(config={"lr": 0.1})
    cuts = [0]
    for step in range(POINTS):
        log.row(step, {"loss": float(step)})
        cuts.append(len(log.data))
    return log, cuts


def wait_applied(server: Server, run: str, log: Log) -> None:
    wait_for("apply", lambda: server.applied(run, log.writer) == len(log.data))


def check_whole(servers: list[Server], run: str, log: Log) -> None:
    """Every point once and in order, seen alike through each server."""
    for server in servers:
        wait_applied(server, run, log)
        got = query(server, run)
        assert got["counts"] == [1] * POINTS
        assert got["x"] == list(range(POINTS))
        assert got["last"] == [float(step) for step in range(POINTS)]


def post(server: Server, run: str, log: Log, start: int, end: int) -> Answer | None:
    """None: the server is away."""
    try:
        whole = bytes(log.data)
        return server.post_log(run, log.writer, start, crc32c(whole[:start]), whole[start:end])
    except (OSError, http.client.HTTPException):
        return None


def test_posts_of_one_log_alternate_doubled_and_out_of_order(pair: tuple[Server, Server]) -> None:
    chance = random.Random(7)
    run = make_id("r")
    pair[1].ok("PUT", f"/api/v1/projects/demo/runs/{run}", {})
    log, cuts = long_log()
    have = 0
    while have < len(log.data):
        at = cuts.index(have)
        ends = [cuts[min(at + chance.randint(1, 200), POINTS)] for _ in range(2)]
        ahead = post(chance.choice(pair), run, log, ends[0], len(log.data))
        assert ahead is None or ahead.status in (400, 416)
        first = post(pair[0], run, log, have, ends[0])
        again = post(pair[1], run, log, have, ends[1])
        assert first and again and (first.status, again.status) == (200, 416)
        assert int(again.headers["euvyra-offset"]) == ends[0]
        have = ends[0]
    check_whole(list(pair), run, log)


def both_at_once(pair: tuple[Server, Server], run: str, log: Log, cuts: list[int]) -> list[int]:
    """A client at each server posts the same log and follows whatever offset it is told."""
    taken = [0, 0]

    def client(index: int) -> None:
        chance = random.Random(index)
        have = 0
        while have < len(log.data):
            end = cuts[min(cuts.index(have) + chance.randint(1, 60), POINTS)]
            answer = post(pair[index], run, log, have, end)
            if answer is None:  # this server is dead: the other client goes on
                return
            if answer.status == 200:
                taken[index] += 1
                have = answer.json["offset"]
            elif answer.status == 416:
                have = int(answer.headers["euvyra-offset"])
            else:
                assert answer.status == 503, answer.body

    threads = [threading.Thread(target=client, args=(index,)) for index in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return taken


def test_one_log_posted_through_both_at_once_is_there_once(pair: tuple[Server, Server]) -> None:
    run = make_id("r")
    pair[0].ok("PUT", f"/api/v1/projects/demo/runs/{run}", {})
    log, cuts = long_log()
    taken = both_at_once(pair, run, log, cuts)
    assert min(taken) > 0
    check_whole(list(pair), run, log)


@pytest.mark.parametrize("victim", [0, 1])
def test_a_server_killed_in_the_middle_loses_nothing(
    pair: tuple[Server, Server], victim: int
) -> None:
    run = make_id("r")
    pair[0].ok("PUT", f"/api/v1/projects/demo/runs/{run}", {})
    log, cuts = long_log()
    half = threading.Thread(target=both_at_once, args=(pair, run, log, cuts))
    half.start()
    wait_for(
        "the middle of the log",
        lambda: pair[1 - victim].applied(run, log.writer) > len(log.data) // 4,
    )
    pair[victim].kill()
    half.join()
    check_whole([pair[1 - victim]], run, log)
    pair[victim].start()
    check_whole(list(pair), run, log)


def test_what_a_dead_server_committed_the_other_applies(tmp_path: Path) -> None:
    blobs = ("--blobs", str(tmp_path / "blobs"))
    a = Server(tmp_path / "a", *blobs).start()
    with Server(tmp_path / "b", *blobs, database=a.database) as b:
        a.ok("PUT", "/api/v1/projects/demo", {})
        for _ in range(3):
            run = make_id("r")
            a.ok("PUT", f"/api/v1/projects/demo/runs/{run}", {})
            log, _ = long_log()
            answer = a.append(run, log)
            assert answer.status == 200
            a.kill()  # acknowledged a moment ago, most likely not applied
            check_whole([b], run, log)
            a.start()
        a.stop()


def test_compaction_by_both_keeps_every_point_once(pair: tuple[Server, Server]) -> None:
    runs = []
    for index in range(4):
        run = make_id("r")
        pair[0].ok("PUT", f"/api/v1/projects/demo/runs/{run}", {})
        log, _ = long_log()
        log.end(exit_code=0)
        answer = pair[index % 2].append(run, log)
        assert answer.status == 200
        runs.append((run, log))
    pair[0].wait_compacted()
    for run, log in runs:
        check_whole(list(pair), run, log)


def lines_until(stream: http.client.HTTPResponse, wanted: str) -> list[bytes]:
    lines = []
    while True:
        line = stream.readline()
        assert line, "the stream ended"
        lines.append(line)
        if wanted.encode() in line:
            return lines


def test_a_change_through_one_shows_in_a_stream_of_the_other(pair: tuple[Server, Server]) -> None:
    run = make_id("r")
    with pair[1].events() as stream:
        pair[0].ok("PUT", f"/api/v1/projects/demo/runs/{run}", {})
        assert any(b"event: run" in line for line in lines_until(stream, run))
        log = Log()
        log.row(0, {"loss": 1.0})
        pair[0].upload(run, log)
        while b"event: metrics\n" not in lines_until(stream, run):
            pass


def test_a_sidecar_comes_soon_when_somebody_looks_through_the_other(
    pair: tuple[Server, Server],
) -> None:
    run = make_id("r")
    pair[0].ok("PUT", f"/api/v1/projects/demo/runs/{run}", {})
    log = Log()

    def next_ms() -> int:
        log.row(0, {"loss": 1.0})
        answer = pair[0].append(run, log)
        assert answer.status == 200
        log.sent = answer.json["offset"]
        return int(answer.json["next_ms"])

    next_ms()
    assert next_ms() > 5000
    with pair[1].events():
        wait_for("the other to say that somebody looks", lambda: next_ms() <= 3000)


def test_rights_taken_through_one_end_the_streams_of_the_other(
    pair: tuple[Server, Server],
) -> None:
    key = pair[0].user("eve")
    pair[0].ok("PUT", "/api/v1/projects/demo/members/eve", {"role": "viewer"})
    with pair[1].events(key) as stream:
        pair[0].ok("DELETE", "/api/v1/projects/demo/members/eve")
        while stream.readline():
            pass  # it ends


def is_online(server: Server, name: str) -> bool:
    agents = server.ok("GET", "/api/v1/agents")["items"]
    return any(agent["name"] == name and agent["state"] == "online" for agent in agents)


def wait_for_success(server: Server, job: str) -> Any:
    def ended() -> Any:
        shown = server.ok("GET", f"/api/v1/jobs/{job}")
        return shown if shown["state"] in ("succeeded", "failed") else None

    done = wait_for("the end of the job", ended)
    assert done["state"] == "succeeded", done
    return done


def test_a_job_submitted_through_one_starts_on_an_agent_of_the_other(
    pair: tuple[Server, Server], tmp_path: Path
) -> None:
    """Whichever of them leads: the agent's poll is parked at the other one."""
    for at, via in (pair, pair[::-1]):
        folder = tmp_path / at.data.name
        folder.mkdir(exist_ok=True)
        with Agent(at, folder / "agent", name=f"rack-{at.data.name}") as agent:
            wait_for("the agent", functools.partial(is_online, via, agent.name))
            job = make_id("j")
            body = {"run": make_id("r"), "spec": {"command": ["true"]}}
            via.ok("PUT", f"/api/v1/projects/demo/jobs/{job}", body)
            wait_for_success(via, job)
        at.ok("DELETE", f"/api/v1/agents/{agent.id}")  # or the next job would wait for this one


def test_an_agent_heard_by_the_follower_is_not_lost(tmp_path: Path) -> None:
    """The leader counts what the other server hears of an agent that never calls the leader."""
    blobs = ("--blobs", str(tmp_path / "blobs"), "--lost-after", "2")
    with (
        Server(tmp_path / "a", *blobs) as a,
        Server(tmp_path / "b", *blobs, database=a.database) as b,
    ):
        a.ok("PUT", "/api/v1/projects/demo", {})
        agent, key = make_agent(a)
        job = make_id("j")
        body = {"run": make_id("r"), "spec": {"command": ["true"]}}
        a.ok("PUT", f"/api/v1/projects/demo/jobs/{job}", body)
        offer = wait_for("the offer", lambda: poll(b, agent, key).json["offers"])[0]
        held = {"attempt": offer["attempt"], "token": offer["token"]}
        headers = {"Euvyra-Attempt-Token": offer["token"]}
        path = f"/api/v1/attempts/{offer['attempt']}/accept"
        assert b.send("POST", path, None, headers, key=key).status == 200
        end = time.monotonic() + 5  # well beyond lost-after
        while time.monotonic() < end:
            assert poll(b, agent, key, held).json["fenced"] == []
            time.sleep(0.2)
        assert a.ok("GET", f"/api/v1/jobs/{job}")["state"] == "claimed"
        lost = wait_for("the loss, once it is silent", lambda: a.sql(LOST.format(job)) != "0")
        assert lost


LOST = (
    "SELECT count(*) FROM job_event e JOIN job j ON j.id = e.job_id"
    " WHERE e.kind = 'lost' AND j.public_id = '{}'"
)


def test_an_attempt_claimed_through_both_is_accepted_once(pair: tuple[Server, Server]) -> None:
    """Raced polls and accepts of one agent: the last token wins, every other is fenced."""
    a = pair[0]
    agent, key = make_agent(a)
    for _ in range(5):
        job = make_id("j")
        body = {"run": make_id("r"), "spec": {"command": ["true"]}}
        a.ok("PUT", f"/api/v1/projects/demo/jobs/{job}", body)
        won = race_claims(pair, agent, key, job)
        assert won == 1
        events = a.ok("GET", f"/api/v1/jobs/{job}/events")["items"]
        assert [event["kind"] for event in events].count("accepted") == 1
        a.ok("POST", f"/api/v1/jobs/{job}/cancel")


def make_agent(server: Server) -> tuple[str, str]:
    agent = make_id("a")
    server.ok("PUT", "/api/v1/targets/here", {})
    server.ok("PUT", f"/api/v1/agents/{agent}", {"name": "rack1", "target": "here"})
    made = server.ok("POST", "/api/v1/keys", {"kind": "agent", "name": "k", "agent": agent})
    return agent, str(made["key"])


def poll(server: Server, agent: str, key: str, *held: dict[str, str]) -> Answer:
    body = {
        "boot": "bbbbbbbbbbbb",
        "version": "test",
        "attempts": list(held),
        "wait_ms": 0,
        "capacity": {"slots": 64, "cpus": 64, "memory_bytes": 1 << 36, "gpus": 0},
    }
    return server.call("POST", f"/api/v1/agents/{agent}/poll", body, key=key)


def race_claims(pair: tuple[Server, Server], agent: str, key: str, job: str) -> int:
    """Four claimers, two a server; how many of the accepts were taken."""
    accepted: list[str] = []
    lock = threading.Lock()

    def claim(server: Server) -> None:
        offers: list[Any] = []

        def polled() -> bool:
            answer = poll(server, agent, key)
            if answer.status == 200:
                offers.extend(o for o in answer.json["offers"] if o["job"] == job)
            return bool(offers) or bool(accepted)

        wait_for("the offer", polled)
        for offer in offers:
            path = f"/api/v1/attempts/{offer['attempt']}/accept"
            headers = {"Euvyra-Attempt-Token": offer["token"]}
            answer = server.send("POST", path, None, headers, key=key)
            if answer.status == 200:
                with lock:
                    accepted.append(offer["token"])
            else:
                assert (answer.status, answer.code) == (409, "fenced")

    threads = [threading.Thread(target=claim, args=(pair[i % 2],)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(accepted)


def leader_number(server: Server) -> int:
    return int(server.sql("SELECT number FROM leader"))


def test_the_next_server_leads_when_the_leader_dies_or_hangs(pair: tuple[Server, Server]) -> None:
    first = leader_number(pair[0])
    wait_for("a leader", lambda: leader_number(pair[0]) > 0)
    pair[0].kill()
    wait_for("the other to lead", lambda: leader_number(pair[1]) > first)
    second = leader_number(pair[1])
    pair[0].start()
    assert pair[1].process
    pair[1].process.send_signal(signal.SIGSTOP)
    wait_for("the first to lead again", lambda: leader_number(pair[0]) > second)
    pair[1].process.send_signal(signal.SIGCONT)
    for server in pair:
        assert server.ok("GET", "/api/v1/projects")["items"]
    assert leader_number(pair[0]) == second + 1  # the old leader decides nothing more


def test_a_run_of_many_metrics_through_both_servers_has_every_fact_once(
    pair: tuple[Server, Server],
) -> None:
    names, steps = 1500, 12  # so many that their facts are brought in piece by piece
    run = make_id("r")
    pair[0].ok("PUT", f"/api/v1/projects/demo/runs/{run}", {})
    log = Log()
    for step in range(steps):
        log.row(step, {f"m{n}": float(step) for n in range(names)})
        server = pair[step % 2]
        answer = server.append(run, log)
        assert answer.status == 200, answer.body
        log.sent = answer.json["offset"]
    for server in pair:
        wait_applied(server, run, log)

    def facts(server: Server) -> set[tuple[int, float, float]]:
        found, cursor = [], ""
        while True:
            page = server.ok("GET", f"/api/v1/runs/{run}/metrics?limit=1000{cursor}")
            found += page["items"]
            cursor = f"&cursor={page['next_cursor']}"
            if not page["next_cursor"]:
                return {(len(found), 0.0, 0.0)} | {(f["count"], f["min"], f["max"]) for f in found}

    want = {(names, 0.0, 0.0), (steps, 0.0, steps - 1.0)}
    for server in pair:
        wait_for("the facts", lambda: facts(server) == want)  # noqa: B023
