"""``scrapy polite settings``: run as an operator runs it, without a project."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from commandline import objects, polite

from scrapy_polite.settings import SETTINGS

if TYPE_CHECKING:
    from pathlib import Path


def test_every_setting_is_shown_as_a_line_to_copy_with_one_sentence_below(tmp_path: Path) -> None:
    done = polite("settings", cwd=tmp_path)
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[::2] == [f"{setting.name} = {setting.default!r}" for setting in SETTINGS]
    for setting, sentence in zip(SETTINGS, lines[1::2], strict=True):
        assert sentence.startswith("  ")
        assert sentence.endswith(".")
        assert "](" not in sentence, "a terminal has no links"
        assert sentence.strip().split("(docs/")[0].rstrip() in setting.meaning
    assert "  The rate of one site." in lines


@pytest.mark.parametrize("name", ["POLITE_DEFER_AFTER", "polite_defer_after", "defer_after"])
def test_one_setting_is_told_in_full_whichever_way_it_is_written(tmp_path: Path, name: str) -> None:
    assert polite("settings", name, cwd=tmp_path).stdout == (
        "POLITE_DEFER_AFTER = 300.0\n"
        "  When nothing but held requests is left, and the nearest hold ends later than this, the spider puts them off and "
        "closes. See docs/deferred.md.\n"
        "  Accepted is a number of seconds above 0.\n"
    )


def test_json_has_all_of_each_setting(tmp_path: Path) -> None:
    found = objects(polite("settings", "--json", cwd=tmp_path))
    assert [one["name"] for one in found] == [setting.name for setting in SETTINGS]
    assert [one["default"] for one in found] == [setting.default for setting in SETTINGS]
    assert [one["accepts"] for one in found] == [setting.accepts for setting in SETTINGS]
    (one,) = objects(polite("settings", "store", "--json", cwd=tmp_path))
    assert one == next(each for each in found if each["name"] == "POLITE_STORE")


def test_a_terminal_has_its_lines_wrapped_and_the_line_to_copy_whole(tmp_path: Path) -> None:
    lines = polite("settings", "costs", cwd=tmp_path, COLUMNS="40").stdout.splitlines()
    assert lines[0].startswith("POLITE_COSTS = {")
    assert len(lines[0]) > 40
    assert all(len(line) <= 40 for line in lines[1:] if "docs/" not in line)


def test_a_name_that_is_none_is_an_error_with_the_nearest_one(tmp_path: Path) -> None:
    done = polite("settings", "sit_rate", cwd=tmp_path)
    assert done.returncode == 2
    assert "POLITE_SIT_RATE is not a setting of scrapy_polite: did you mean POLITE_SITE_RATE?" in done.stderr
