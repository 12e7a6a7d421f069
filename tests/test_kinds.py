"""What kind of thing a URL is, and what it costs."""

from __future__ import annotations

import re

import pytest

from scrapy_polite.limits.kinds import Kinds


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("https://www.example.com/", "page"),
        ("https://www.example.com", "page"),
        ("https://www.example.com/listing/7", "page"),
        ("https://www.example.com/robots.txt", "robots"),
        ("https://www.example.com/robots.txt?x=1", "robots"),
        ("https://www.example.com/about/robots.txt", "page"),
        ("https://www.example.com/?next=/robots.txt", "page"),
        ("https://www.example.com/img/7.jpg", "image"),
        ("https://www.example.com/img/7.JPEG?w=640#top", "image"),
        ("https://www.example.com/logo.svg", "image"),
        ("https://www.example.com/x.webp/", "page"),
        ("https://www.example.com/?file=a.jpg", "page"),
        ("https://www.example.com#a.jpg", "page"),
        ("https://images.jpg", "page"),
        ("https://images.jpg/list", "page"),
        ("", "page"),
    ],
)
def test_without_rules_the_path_tells_the_kind(url: str, kind: str) -> None:
    assert Kinds().of(url) == kind


def test_the_first_rule_that_is_found_in_the_url_wins_over_everything_else() -> None:
    kinds = Kinds(rules=[("search", r"/search\?"), ("map", r"\.png$"), ("any", r"example")])
    assert kinds.of("https://example.com/search?q=a.png") == "search"
    assert kinds.of("https://example.com/tile.png") == "map"
    assert kinds.of("https://example.com/robots.txt") == "any"
    assert kinds.of("https://other.test/robots.txt") == "robots"


def test_rules_may_come_as_lists_from_the_command_line() -> None:
    assert Kinds(rules=[["search", "q="]]).of("https://a.test/?q=1") == "search"  # type: ignore[list-item]


def test_costs_are_over_the_defaults_and_an_unknown_kind_costs_a_page() -> None:
    kinds = Kinds(costs={"page": 3, "map": 0.5})
    costs = {kind: kinds.cost(kind) for kind in ("search", "page", "image", "robots", "map", "never heard of")}
    assert costs == {"search": 4, "page": 3, "image": 1, "robots": 1, "map": 0.5, "never heard of": 3}


@pytest.mark.parametrize(
    "rules", [[("search", "(")], [("search",)], ["search"], [("", "x")], [("search", 5)], [(None, "x")], "search"]
)
def test_a_rule_that_cannot_be_used_names_the_setting_and_the_form(rules: object) -> None:
    with pytest.raises(ValueError, match=r"POLITE_KINDS.*regular expression"):
        Kinds(rules=rules)  # type: ignore[arg-type]


def test_an_expression_that_does_not_compile_is_shown_with_its_fault() -> None:
    with pytest.raises(ValueError, match=re.escape("'(a'")) as error:
        Kinds(rules=[("search", "(a")])
    assert "search" in str(error.value)
    assert isinstance(error.value.__cause__, re.error)


@pytest.mark.parametrize("cost", [0, -1, float("nan"), float("inf"), "4", None, True])
def test_a_cost_that_is_none_names_the_setting_and_the_form(cost: object) -> None:
    with pytest.raises(ValueError, match=r"POLITE_COSTS.*above 0"):
        Kinds(costs={"page": cost})  # type: ignore[dict-item]
