"""Every request of a crawl is accounted for: done, failed to its errback, or put off; whatever happens on the way.

``POLITE_SOAK`` in the environment, as ``make soak-accounting`` sets it, is a list of seeds for the longer form.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from typing import TYPE_CHECKING

import pytest
from accounting import IN_FLIGHT, World, answer
from loopback import Server

if TYPE_CHECKING:
    from pathlib import Path

    from postgres import Server as PostgresServer

SOAK = [int(seed) for seed in os.environ.get("POLITE_SOAK", "").split()]
SEEDS = SOAK or [1]
RUNS = 12 if SOAK else 5
COUNT, RATE = (70, 4.0) if SOAK else (14, 3.0)
"""So many that most of the runs have something left to do when they are ended."""


def test_the_sum_is_right_after_a_restart_with_holds_and_a_store_that_is_away(tmp_path: Path) -> None:
    """Without a JOBDIR: what waits is in the store."""
    with Server(answer, address="0.0.0.0") as server:
        world = World(server, tmp_path, 12)
        with world.start() as running:
            running.until(lambda: len(world.ended()) >= 8)
            world.take_the_store_away()
            running.until(lambda: "The store cannot answer" in running.log)
            before = len(server.arrivals)
            time.sleep(1.0)
            assert len(server.arrivals) <= before + 1
            world.bring_the_store_back()
            running.until(lambda: "The store answers again" in running.log)
            running.until(lambda: world.started() and len(world.ended()) >= 14)
            running.process.send_signal(signal.SIGTERM)
            first = running.end(60)
        assert first.stats["finish_reason"] == "shutdown", first.log
        ended, waiting = world.ended(), world.put_off()
        assert set(ended.values()) == {1}
        assert sorted([*ended, *waiting]) == sorted(world.urls), first.log
        with world.start() as running:
            last = running.end(120)
        assert last.stats["finish_reason"] == "polite_deferred", last.log
        assert last.stats["polite/deferred/taken_up"] >= 1
        assert sorted(world.put_off()) == sorted(world.held)
        assert set(world.ended()) == world.urls - world.held
        # The start requests of the second run ask again for what the first had done; nothing else is made twice.
        assert all(times == 1 + (url in ended) for url, times in world.ended().items())


def test_with_a_store_that_stays_away_every_request_that_waits_fails_at_its_errback(tmp_path: Path) -> None:
    with Server(answer, address="0.0.0.0") as server:
        world = World(server, tmp_path, 12)
        with world.start(patience=2.0) as running:
            # What waits for the key that is parked is in the store by then, and stays there.
            running.until(lambda: world.started() and len(world.ended()) >= 8 and len(world.put_off()) == 12)
            world.take_the_store_away()
            running.process.send_signal(signal.SIGTERM)
            done = running.end(60)
        world.bring_the_store_back()
        assert "their errbacks are called" in done.log
        assert done.stats["polite/deferred/failed"] >= 12
        assert sorted([*world.ended(), *world.put_off()]) == sorted(world.urls), done.log
        assert len(world.put_off()) == 12
        assert set(world.ended().values()) == {1}


@pytest.mark.parametrize("seed", SEEDS)
def test_the_sum_is_right_after_ends_at_random_with_a_jobdir(seed: int, tmp_path: Path) -> None:
    """What waits is in the queue on disk; runs begin as they would, with their start requests."""
    with Server(answer, address="0.0.0.0") as server:
        world = World(server, tmp_path, COUNT, RATE, job=True)
        told = list(world.ends_at_random(random.Random(seed), RUNS, anew=True))
        with world.start() as running:
            last = running.end(120)
        sys.stdout.write("\n".join([f"seed {seed}", *told, ""]))
        said = "\n".join([f"seed {seed}", *told, last.log])
        assert last.stats["finish_reason"] == "polite_deferred", said
        ended, waiting = world.ended(), world.in_the_queue()
        assert not world.lost(), said
        assert sorted(waiting) == sorted(world.held), said
        assert set(ended) == world.urls - world.held, said
        assert f"In the JOBDIR: {2 * COUNT} requests of 2 sites wait for the next run" in last.log
        assert world.put_off() == []
        # What was under way is made again, and nothing else.
        assert ended.total() - len(ended) <= RUNS * IN_FLIGHT, said


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_the_sum_is_right_after_ends_at_random_of_what_was_put_off(
    kind: str, seed: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Without a JOBDIR: what a first run has put off, all of it, is made by others, up to two at a time, that have no start
    requests: what they lost would come no more."""
    chance = random.Random(seed)
    postgres: PostgresServer | None = request.getfixturevalue("own_server") if kind == "postgres" else None
    with Server(answer, address="0.0.0.0") as server:
        world = World(server, tmp_path, COUNT, RATE, postgres=postgres)
        with world.start() as running:
            enough = chance.randint(1, 8)
            running.until(lambda: world.started() and len(world.ended()) >= enough, 90)
            running.process.send_signal(signal.SIGTERM)
            running.end(60)
        told = [f"seed {seed}: {len(world.ended())} ends before"]
        for line in world.ends_at_random(chance, RUNS, anew=False, processes=2):
            told.append(line)
            assert not world.lost(), "\n".join(told)
            if chance.random() < 0.7:
                world.a_minute_passes()
        world.a_minute_passes()
        with world.start(anew=False) as running:
            last = running.end(120)
        sys.stdout.write("\n".join([*told, ""]))
        said = "\n".join([*told, last.log])
        assert sorted(world.put_off()) == sorted(world.held), said
        assert set(world.ended()) == world.urls - world.held, said
        assert world.ended().total() - len(world.ended()) <= RUNS * 2 * IN_FLIGHT, said


def test_what_a_killed_run_had_taken_up_is_taken_up_again(tmp_path: Path) -> None:
    with Server(answer, address="0.0.0.0") as server:
        world = World(server, tmp_path, 12)
        with world.start() as running:
            running.until(lambda: world.started() and len(world.ended()) >= 4)
            running.process.send_signal(signal.SIGTERM)
            running.end(60)
        waiting = world.put_off()
        assert len(waiting) > 24
        with world.start() as running:
            running.until(lambda: "Taken up" in running.log)
            running.process.kill()
            running.end(20)
        # Nothing is gone but what had come to its end.
        assert set(waiting) - set(world.put_off()) <= set(world.ended())
        world.a_minute_passes()
        with world.start() as running:
            last = running.end(120)
        assert last.stats["polite/deferred/taken_up"] > 0
        assert not world.lost()
        assert set(world.ended()).isdisjoint(world.put_off())
