"""The made-up webs that the judge of origins is measured on, the scores, and that the aims hold on a small one."""

from __future__ import annotations

import sys
from collections import Counter
from ipaddress import ip_address
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.evidencerows import stored
from benchmarks.judging import judged, pointings
from benchmarks.origins import PRECISION, RECALL, confirmed, same_in_any_order
from benchmarks.partitions import baselines, same, score
from benchmarks.worlds import Site, World, make
from scrapy_polite.origins.edges import KNOWN

SCALE = 0.15


@pytest.fixture(scope="module")
def world() -> World:
    return make(1, SCALE)


def site(host: str, unit: str, kind: str = "a") -> Site:
    return Site(host, kind, unit, "", (), {}, ())


def test_a_seed_is_one_world_and_another_seed_another(world: World) -> None:
    assert make(1, SCALE) == world
    assert make(2, SCALE).sites != world.sites


def test_every_host_stands_once_and_was_looked_up(world: World) -> None:
    assert len({one.host for one in world.sites}) == len(world.sites) > 1_500
    for one in world.sites:
        assert one.lookups
        assert all(lookup.addresses and lookup.at <= world.now and lookup.ttl > 0 for lookup in one.lookups), one
        assert all(reply.at <= world.now for reply in one.replies)
        assert set(one.pointers) <= set(one.lookups[-1].addresses)


def test_a_whole_world_has_every_kind_and_sizes_from_a_heavy_tail() -> None:
    whole = make(3)
    assert len(whole.sites) >= 10_000
    kinds = Counter(one.kind for one in whole.sites)
    assert len(kinds) >= 22
    assert kinds["unknown_cdn"] == 160
    sizes = sorted(Counter(one.unit for one in whole.sites).values())
    assert sizes[len(sizes) // 2] <= 2
    assert sizes[-1] >= 200


def test_a_tenth_is_faulty_and_every_fault_occurs(world: World) -> None:
    faulty = [one for one in world.sites if one.fault]
    assert 0.07 < len(faulty) / len(world.sites) < 0.13
    assert len({fault for one in faulty for fault in one.fault.split(" + ")}) == 10
    silent = [one for one in faulty if one.fault == "no response"]
    assert silent
    assert not any(one.replies for one in silent)


def test_addresses_are_public_and_nobody_elses_but_where_an_edge_or_a_router_answers(world: World) -> None:
    addresses = {address for one in world.sites for lookup in one.lookups for address in lookup.addresses}
    assert all(ip_address(address).is_global for address in addresses)
    at: dict[str, set[str]] = {}
    for one in world.sites:
        if one.kind in ("own_server", "hoster_machine", "family", "parked", "address_platform") and not one.fault:
            for address in one.lookups[-1].addresses:
                at.setdefault(address, set()).add(one.unit)
    assert all(len(units) == 1 for units in at.values())


def test_four_fifths_of_a_skewed_world_are_one_platform() -> None:
    skewed = make(1, SCALE, skewed=True)
    most = Counter(one.unit for one in skewed.sites).most_common(1)[0][1]
    assert 0.75 < most / len(skewed.sites) < 0.85


def test_scores_count_all_pairs() -> None:
    sites = [site("a", "x"), site("b", "x"), site("c", "x", "b"), site("d", "y", "b")]
    # a and b together, c with the stranger d: of two pairs one is right, of three that belong together one is found.
    found = score(sites, {"a": 1, "b": 1, "c": 2, "d": 2})
    assert (found.precision, found.recall) == (1 / 2, 1 / 3)
    assert found.f1 == pytest.approx(2 / 5)
    assert found.b3_precision == pytest.approx((1 + 1 + 1 / 2 + 1 / 2) / 4)
    assert found.b3_recall == pytest.approx((2 / 3 + 2 / 3 + 1 / 3 + 1) / 4)
    kinds = {kind.kind: kind for kind in found.kinds}
    assert (kinds["a"].precision, kinds["a"].recall) == (1.0, 1 / 2)
    assert (kinds["b"].precision, kinds["b"].recall) == (0.0, 0.0)
    assert found.macro_precision == 1 / 2
    assert found.biggest == 2


def test_a_perfect_partition_and_one_of_single_hosts_have_the_scores_they_should(world: World) -> None:
    perfect = score(world.sites, {one.host: one.unit for one in world.sites})
    assert (perfect.precision, perfect.recall, perfect.b3_precision, perfect.b3_recall) == (1, 1, 1, 1)
    alone = score(world.sites, {one.host: one.host for one in world.sites})
    assert (alone.precision, alone.recall) == (1, 0)


def test_partitions_are_compared_by_who_is_together_not_by_name() -> None:
    assert same({"a": 1, "b": 1, "c": 2}, {"a": "x", "b": "x", "c": "y"})
    assert not same({"a": 1, "b": 1, "c": 2}, {"a": 1, "b": 2, "c": 2})


def test_the_table_knows_every_edge_and_platform_that_the_world_puts_in_front(world: World) -> None:
    for one in world.sites:
        if one.kind in ("edge_independent", "edge_name", "edge_headers", "edge_hidden") and "stale DNS" not in one.fault:
            lookup = one.lookups[-1]
            by_name = any(KNOWN.row_of_name(name) for name in lookup.chain)
            assert by_name or all(KNOWN.row_of_address(address) for address in lookup.addresses), one
        elif one.kind == "unknown_cdn":
            assert not any(KNOWN.row_of_address(address) for address in one.lookups[-1].addresses)


def test_the_aims_hold_on_a_small_world(world: World) -> None:
    hosts = [one.host for one in world.sites]
    found = score(world.sites, judged(hosts, pointings(world, confirmed(world))))
    assert found.precision >= PRECISION, found
    assert found.recall >= RECALL, found
    for name, keys in baselines(KNOWN).items():
        assert found.f1 > score(world.sites, keys(world.sites)).f1, name


def test_an_unknown_edge_is_one_origin_until_it_is_confirmed(world: World) -> None:
    hosts = [one.host for one in world.sites]
    behind = [one for one in world.sites if one.kind == "unknown_cdn" and not one.fault]
    before = judged(hosts, pointings(world))
    assert len({before[one.host] for one in behind}) == 1
    after = judged(hosts, pointings(world, confirmed(world)))
    assert len({after[one.host] for one in behind}) == len(behind)


def test_three_orders_of_arrival_give_one_partition(world: World) -> None:
    assert same_in_any_order(world)


def test_evidence_is_written_to_sqlite_and_loaded_one_site_at_a_time() -> None:
    found = stored(2_000)
    assert found.found
    assert found.near >= 1
    assert 0 < found.megabytes < 20
