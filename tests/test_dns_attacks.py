"""What an attacker's zone, or somebody on the way, can put into an answer, and what the guard makes of it."""

from __future__ import annotations

import asyncio
from ipaddress import ip_address
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from nameserver import Script, name_server

from scrapy_polite.dns import Answer, NoAnswer, Resolver
from scrapy_polite.guard import Policy, Refused

if TYPE_CHECKING:
    from collections.abc import Callable

PUBLIC, PRIVATE = "93.184.216.34", "10.0.0.1"


def judged(script: Callable[[Script], None], host: str = "a.test", policy: Policy | None = None) -> Refused | NoAnswer | Answer:
    """What comes of asking for a host, and of judging the answer."""

    async def run() -> Refused | NoAnswer | Answer:
        async with name_server() as (says, server):
            script(says)
            found = await Resolver([server], timeout=3.0).resolve(host)
        if isinstance(found, NoAnswer):
            return found
        return (policy or Policy()).judge_answer(found.addresses, found.chain, host, 80) or found

    return asyncio.run(run())


def reason(found: Refused | NoAnswer | Answer) -> str | None:
    return None if isinstance(found, Answer) else found.reason


@pytest.mark.parametrize(
    "bad", [PRIVATE, "127.0.0.1", "169.254.169.254", "::1", "::ffff:10.0.0.1", "64:ff9b::a00:1", "fd00::1"]
)
@pytest.mark.parametrize("good", [[PUBLIC], [PUBLIC, "2606:2800:220:1::1"], [f"93.184.216.{n}" for n in range(60)]])
def test_one_bad_address_among_good_ones_refuses_the_host(bad: str, good: list[str]) -> None:
    def script(says: Script) -> None:
        for address in (*good, bad):
            says.add("a.test", (60, "AAAA" if ":" in address else "A", address))

    found = judged(script)
    assert isinstance(found, Refused)
    assert isinstance(judged(lambda says: says.add("a.test", (60, "A", PUBLIC))), Answer)


def test_300_addresses_are_all_judged() -> None:
    good = [f"93.184.{number // 250}.{number % 250}" for number in range(299)]
    assert isinstance(judged(lambda says: says.add("a.test", *((60, "A", one) for one in good))), Answer)
    found = judged(lambda says: says.add("a.test", *((60, "A", one) for one in (*good, PRIVATE))))
    assert reason(found) == "private"


@pytest.mark.parametrize("length", range(1, 17))
@pytest.mark.parametrize(
    ("end", "why"), [("db.internal", "special_name"), ("metadata.google.internal", "metadata"), ("c.test", None)]
)
def test_a_chain_to_a_name_of_the_inside_is_refused_at_every_length(length: int, end: str, why: str | None) -> None:
    names = ["a.test", *(f"hop{number}.test" for number in range(1, length)), end]

    def script(says: Script) -> None:
        for name, target in pairwise(names):
            says.add(name, (60, "CNAME", f"{target}."))
        says.add(end, (60, "A", PUBLIC))

    if length > 15:  # dnspython follows so many; a chain that is longer is no answer
        assert reason(judged(script)) == "loop"
    else:
        assert reason(judged(script)) == why


def test_a_name_in_the_middle_of_a_chain_is_judged_too() -> None:
    def script(says: Script) -> None:
        for name, target in (("a.test", "printer.local."), ("printer.local", "c.test.")):
            says.add(name, (60, "CNAME", target))
        says.add("c.test", (60, "A", PUBLIC))

    assert reason(judged(script)) == "special_name"


def test_a_chain_that_is_private_for_one_type_only_is_refused() -> None:
    def script(says: Script) -> None:
        says.by_type["a.test"] = {"A": (60, "CNAME", "c.test."), "AAAA": (60, "CNAME", "db.internal.")}
        says.add("c.test", (60, "A", PUBLIC))
        says.add("db.internal", (60, "AAAA", "2606:2800:220:1::1"))

    assert reason(judged(script)) == "special_name"


@pytest.mark.parametrize("target", [r"a\.b.test.", r"a\032b.test.", r"\000.test.", "a,b.test.", "127.1.", r"\195\188.test."])
def test_a_target_that_is_no_host_name_is_refused(target: str) -> None:
    def script(says: Script) -> None:
        says.add("a.test", (60, "CNAME", target))
        says.junk.append((target.rstrip("."), (60, "A", PUBLIC)))

    found = judged(script)
    assert reason(found) in {"bad_host", "nxdomain"}


def test_a_zone_that_flips_from_public_to_private_gains_nothing_within_the_floor_and_is_refused_behind_it() -> None:
    async def run() -> None:
        async with name_server() as (says, server):
            says.changing["a.test"] = lambda before: [(0, "A", PRIVATE if before else PUBLIC)]
            now = [1000.0]
            resolver, policy = Resolver([server], clock=lambda: now[0]), Policy()
            first = await resolver.resolve("a.test")
            assert isinstance(first, Answer)
            assert policy.judge_answer(first.addresses, first.chain) is None
            now[0] += 4.9
            assert await resolver.resolve("a.test") is first  # what was judged is what is dialled
            now[0] += 0.2
            second = await resolver.resolve("a.test")
            assert isinstance(second, Answer)
            refused = policy.judge_answer(second.addresses, second.chain)
            assert refused is not None
            assert refused.reason == "private"

    asyncio.run(run())


@pytest.mark.parametrize("fault", ["wrong id", "wrong question"])
def test_an_answer_to_another_question_is_not_taken(fault: str) -> None:
    def script(says: Script) -> None:
        says.add("a.test", (60, "A", PUBLIC))
        says.faults["a.test"] = fault

    found = judged(script)
    assert isinstance(found, Answer)
    assert found.addresses == (ip_address(PUBLIC),)


def test_records_about_other_names_are_not_taken() -> None:
    """Out of bailiwick: a server that is asked about one name and speaks of others."""

    async def run() -> None:
        async with name_server() as (says, server):
            says.add("a.test", (60, "A", PUBLIC))
            says.junk += [("b.test", (60, "A", PRIVATE)), ("b.test", (60, "CNAME", "a.test.")), ("test", (60, "NS", "b.test."))]
            resolver = Resolver([server])
            found = await resolver.resolve("a.test")
            assert isinstance(found, Answer)
            assert (found.addresses, found.chain) == ((ip_address(PUBLIC),), ())
            assert resolver.cached("b.test") is None
            says.junk.clear()
            assert isinstance(await resolver.resolve("b.test"), NoAnswer)

    asyncio.run(run())


def test_junk_about_the_target_of_a_chain_is_judged_like_the_rest() -> None:
    def script(says: Script) -> None:
        says.add("a.test", (60, "CNAME", "b.test."))
        says.add("b.test", (60, "A", PUBLIC))
        says.junk.append(("b.test", (60, "A", PRIVATE)))

    assert reason(judged(script)) == "private"


def test_a_slow_answer_is_an_answer_as_long_as_there_is_time() -> None:
    def script(says: Script) -> None:
        says.add("a.test", (60, "A", PUBLIC))
        says.faults["a.test"] = "slow"

    assert isinstance(judged(script), Answer)


def test_an_answer_that_is_cut_and_has_no_rest_is_no_answer() -> None:
    def script(says: Script) -> None:
        says.add("a.test", *((60, "A", f"93.184.216.{number}") for number in range(200)))
        says.silent_on_tcp = True

    assert reason(judged(script)) == "malformed"  # the server closes; the part that came is not used
