"""What people rule of origins, without a store: which ruling counts, and what it makes of a placement."""

from __future__ import annotations

from scrapy_polite.origins.placements import Placement, Reason
from scrapy_polite.origins.rulings import Ruling, Rulings

ADDRESS = Reason("address", "203.0.113.7", 0.93, 4)
PLACED = Placement("www.shop.test", "origin:203.0.113.7", 0.93, (ADDRESS,), None, located=True)


def join(subject: str, origin: str, until: float | None = None) -> Ruling:
    return Ruling(subject, "join", origin, "ann", "they told us", 100.0, until)


def ruled(*rulings: Ruling) -> Rulings:
    found = Rulings()
    found.replace(rulings)
    return found


def test_without_a_ruling_the_evidence_counts() -> None:
    assert ruled().over(PLACED) is PLACED
    assert ruled(join("else.test", "origin:other")).over(PLACED) is PLACED


def test_a_ruling_on_the_host_wins_over_the_evidence_and_over_one_on_its_origin() -> None:
    both = ruled(join("www.shop.test", "origin:own"), join("origin:203.0.113.7", "origin:other"))
    placed = both.over(PLACED)
    assert (placed.origin, placed.confidence, placed.located) == ("origin:own", 1.0, True)
    assert placed.because == (Reason("join", "ann: they told us", 1.0, 1),)


def test_a_ruling_on_an_origin_moves_all_its_hosts_and_leaves_the_evidence_for_it() -> None:
    placed = ruled(join("origin:203.0.113.7", "origin:other")).over(PLACED)
    assert placed.origin == "origin:other"
    assert placed.because == (ADDRESS, Reason("join", "ann, with all of origin:203.0.113.7: they told us", 1.0, 1))


def test_a_ruling_follows_the_name_that_it_gives_when_that_becomes_an_alias() -> None:
    rulings = ruled(join("www.shop.test", "origin:old"))
    before = rulings.generation
    rulings.stand({"origin:old": "origin:new", "origin:else": "origin:x"})
    assert rulings.over(PLACED).origin == "origin:new"
    assert rulings.generation == before + 1
    rulings.stand({"origin:old": "origin:new"})
    assert rulings.generation == before + 1, "nothing has changed"
    rulings.stand({"origin:old": "origin:old"})
    assert rulings.over(PLACED).origin == "origin:old"


def test_aliases_that_a_ruling_has_made_are_not_the_judges_to_take_apart() -> None:
    rulings = ruled(join("origin:a", "origin:b"))
    assert rulings.joins("origin:a", "origin:b")
    assert not rulings.joins("origin:b", "origin:a")
    names = {"origin:a": "origin:b", "origin:c": "origin:b", "origin:b": "origin:b"}
    assert rulings.without(names) == {"origin:a": "origin:a", "origin:c": "origin:b", "origin:b": "origin:b"}
    rulings.stand({"origin:b": "origin:older"})
    assert rulings.joins("origin:a", "origin:older")


def test_what_has_run_out_is_told_once_and_obeyed_no_more() -> None:
    rulings = ruled(join("www.shop.test", "origin:own", until=200.0), join("else.test", "origin:own"))
    assert rulings.expire(199.0) == []
    before = rulings.generation
    assert [ruling.subject for ruling in rulings.expire(200.0)] == ["www.shop.test"]
    assert rulings.over(PLACED) is PLACED
    assert rulings.generation == before + 1
    assert rulings.expire(300.0) == []
