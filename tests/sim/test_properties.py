"""What must always hold, on random clusters with faults; EUVYRA_SIM_SEEDS says how many."""

from __future__ import annotations

import os

from rig import sim
from support import BUILD

SEEDS = int(os.environ.get("EUVYRA_SIM_SEEDS", "1000"))


def test_random_clusters_keep_every_property() -> None:
    assert f"{SEEDS} seeds, 0 failed" in sim("check", "--seeds", f"1..{SEEDS}", "--jobs", "2")


def test_room_of_one_that_gives_it_up_in_mid_cycle_does_not_go_to_those_behind() -> None:
    for seed in (18214, 32442, 77964):
        assert "1 seeds, 0 failed" in sim("check", "--seeds", f"{seed}..{seed}")


def test_room_is_not_held_for_one_whose_budget_is_spent() -> None:
    assert "1 seeds, 0 failed" in sim("check", "--seeds", "27501..27501")


def test_who_was_promised_room_starts_though_room_beside_it_is_closed() -> None:
    for seed in (4747, 36120):
        assert "1 seeds, 0 failed" in sim("check", "--seeds", f"{seed}..{seed}")


def test_an_element_that_cannot_start_keeps_no_place_of_its_array() -> None:
    for seed in (6865, 55545):
        assert "1 seeds, 0 failed" in sim("check", "--seeds", f"{seed}..{seed}")


def test_a_seed_gives_the_same_run_byte_for_byte() -> None:
    for seed in ("3..3", "77..77", "500..500"):
        first = sim("check", "--seeds", seed, "--log")
        assert first.count("\n") > 20
        assert first == sim("check", "--seeds", seed, "--log")


def test_what_is_asked_is_checked() -> None:
    for seeds in ("", "5..1", "-1..2", "a..b", "1..9999999999999", "1"):
        said = sim("check", "--seeds", seeds, code=2) if seeds != "1" else ""
        assert seeds == "1" or f'--seeds "{seeds}"' in said
    assert "--jobs" in sim("check", "--seeds", "1..2", "--jobs", "0", code=2)
    assert "check needs --seeds" in sim("check", code=2)
    assert "--sseeds" in sim("check", "--sseeds", "1", code=2)
    assert '"frobnicate" is not run' in sim("frobnicate", code=2)
    assert (BUILD / "euvyra-sim").exists()
