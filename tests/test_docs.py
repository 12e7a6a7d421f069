"""The documentation says what the code does: every stat, reason, meta key, dependency and command, both ways."""

from __future__ import annotations

import ast
import configparser
import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PACKAGE = ROOT / "scrapy_polite"

DIST_OF = {
    "ada_url": "ada-url",
    "ahocorasick_rs": "ahocorasick-rs",
    "dns": "dnspython",
    "google": "google-cloud-storage",
    "OpenSSL": "pyopenssl",
    "presidio_analyzer": "presidio-analyzer",
    "zope": "zope.interface",
}
"""Names of distributions that differ from what is imported."""


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def trees() -> Iterator[tuple[Path, ast.Module]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        yield path, ast.parse(path.read_text(encoding="utf-8"))


def calls(*names: str) -> Iterator[ast.Call]:
    """Every call in the package of a function or method with one of these names."""
    for _, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                if called in names:
                    yield node


def template(node: ast.expr) -> str | None:
    """A text, or an f-string with its holes as ``<>``; None for anything else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "<>" for part in node.values)
    return None


def first_column(text: str, below: str = "") -> list[str]:
    """The code in the first cells of the tables of a page, or of the first table below a sentence."""
    if below:
        text = text[text.index(below) :]
        text = text[text.index("\n|") :].lstrip("\n")
        text = text[: text.index("\n\n")] if "\n\n" in text else text
    return re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE)


# -- names


def test_every_provider_of_a_key_is_documented() -> None:
    from scrapy_polite.naming.imageservices import SERVICES
    from scrapy_polite.naming.objectstores import ROWS

    def providers(part: str) -> set[str]:
        rows = re.findall(r"^\| (`[^|]*`) \|", part, re.MULTILINE)
        return {name for row in rows for name in re.findall(r"`([^`]+)`", row)}

    buckets, services = page("names.md").split("## Image services")
    assert providers(buckets) == {row.provider for row in ROWS} | {"listed"}
    assert providers(services) == {service.provider for service in SERVICES}


# -- stats


def emitted_stats() -> set[str]:
    found = set()
    for call in calls("count", "inc_value", "set_value", "max_value", "min_value"):
        stat = template(call.args[0]) if call.args else None
        if stat is None or stat == "polite/<>":  # Politeness.count() itself, whose callers are read.
            continue
        method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        if method == "count" and "/" in stat:
            found.add(f"polite/{stat}")
        elif stat.startswith("polite/"):
            found.add(stat)
    return found


def test_every_stat_is_documented_and_every_documented_stat_exists() -> None:
    documented = {re.sub("<[^>]*>", "<>", stat) for stat in first_column(page("stats.md")) if stat.startswith("polite/")}
    assert documented == emitted_stats()


def test_every_literal_that_looks_like_a_stat_is_one() -> None:
    """Also one that is put together elsewhere than in a call that counts."""
    literals = set()
    for _, tree in trees():
        docstrings = {
            id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        }
        for node in ast.walk(tree):
            text = template(node) if isinstance(node, ast.expr) and id(node) not in docstrings else None
            if text is not None and re.fullmatch(r"polite/[\w/<>]+", text):
                literals.add(text)
    # A part of an f-string is a literal as well, so a documented stat may continue where a literal ends.
    known = emitted_stats()
    assert {text for text in literals if not any(stat.startswith(text) for stat in known)} <= {"polite/<>", "polite/"}


def emitted_reasons() -> set[str]:
    from scrapy_polite.guard.ranges import IPV4_ROWS, IPV6_ROWS

    found = {row.reason for row in (*IPV4_ROWS, *IPV6_ROWS)}
    for call in calls("Refused", "Invalid", "Verdict", "refuse"):
        reason = template(call.args[0]) if call.args else None
        if reason:
            found.add(reason)
    # judge_name() answers (reason, detail).
    for _, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.name == "judge_name":
                found |= {
                    reason
                    for answer in ast.walk(node)
                    if isinstance(answer, ast.Return) and isinstance(answer.value, ast.Tuple)
                    if (reason := template(answer.value.elts[0])) is not None
                }
    return found


def test_every_reason_of_a_refusal_is_documented() -> None:
    assert set(first_column(page("stats.md"), "The reasons:")) == emitted_reasons()


def test_every_outcome_of_an_image_is_documented() -> None:
    from scrapy_polite.images.policy import OUTCOMES
    from scrapy_polite.media.failures import OUTCOMES as WITHOUT_BYTES

    assert set(first_column(page("stats.md"), "The outcomes:")) == {*OUTCOMES, *WITHOUT_BYTES}


def test_the_kinds_of_refusals_and_their_waits_are_documented() -> None:
    from scrapy_polite.backoff.ladders import DEFAULT_RUNGS

    how = page("how-it-works.md")
    assert set(first_column(how, "## What is heard")) == set(DEFAULT_RUNGS)
    for kind, rungs in DEFAULT_RUNGS.items():
        (row,) = re.findall(rf"^\| `{kind}` \|.*\| ([^|]*) s \|$", how, re.MULTILINE)
        assert row == ", ".join(str(wait) for wait in rungs)
        assert f"`{kind}`" in page("stats.md")


# -- request meta


def test_every_key_of_the_request_meta_is_documented() -> None:
    keys = {
        node.value
        for _, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.fullmatch(r"polite(_[a-z]+)*", node.value)
    }
    context_variables = {template(call.args[0]) for call in calls("ContextVar")}
    not_meta = {"polite_unprotected", "polite"} | {key for key in context_variables if key is not None}
    documented = set(re.findall(r"^`(polite\w*)`$", page("meta.md"), re.MULTILINE))
    assert documented == (keys - not_meta) | {"polite"}


def test_what_was_decided_is_documented_key_by_key() -> None:
    decided = set()
    for _, tree in trees():
        for node in ast.walk(tree):
            if not isinstance(node, ast.Assign):
                continue
            for target in node.targets:
                written = ast.unparse(target)
                if written.endswith(".meta['polite']") and isinstance(node.value, ast.Dict):
                    decided |= {template(key) for key in node.value.keys if key is not None}
                if ".meta['polite'][" in written and isinstance(target, ast.Subscript):
                    decided.add(template(target.slice))
    documented = re.findall(r"^  \| `(\w+)` \|", page("meta.md"), re.MULTILINE)
    assert set(documented) == decided
    assert decided


# -- settings and commands


def test_a_setting_that_a_page_names_exists() -> None:
    from scrapy_polite.settings import SETTINGS

    known = {setting.name for setting in SETTINGS}
    for path in [*sorted(DOCS.glob("*.md")), ROOT / "README.md", ROOT / "CHANGELOG.md"]:
        named = set(re.findall(r"POLITE_[A-Z_]*[A-Z]", path.read_text(encoding="utf-8")))
        assert named <= known, path.name


def test_every_verb_has_a_section_that_is_generated_from_its_parser() -> None:
    from scrapy_polite.commands import VERBS

    assert re.findall(r"^```\{polite-verb\} (\w+)$", page("commands.md"), re.MULTILINE) == list(VERBS)
    assert re.findall(r"^## (\w+)$", page("commands.md"), re.MULTILINE) == list(VERBS)


def test_every_field_of_an_explanation_is_documented() -> None:
    from scrapy_polite.commands.fields import Explanation

    rows = re.findall(r"^\| (`[^|]*`) \|", page("commands.md").split("### Fields")[1], re.MULTILINE)
    documented = [name for row in rows for name in re.findall(r"`([^`]+)`", row)]
    assert sorted(documented) == sorted(Explanation.__annotations__)


# -- dependencies


def declared() -> dict[str, set[str]]:
    """Names by extra, "" for what is always installed; without the version, and without the package's own extras."""
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    parts = {"": config["options"]["install_requires"], **config["options.extras_require"]}
    names = {
        extra: {re.split(r"[\[<>=!~; ]", line, maxsplit=1)[0] for line in requirements.split("\n") if line.strip()}
        for extra, requirements in parts.items()
    }
    return {extra: found - {"scrapy-polite"} for extra, found in names.items()}


def test_every_dependency_has_a_reason_and_no_reason_is_left_over() -> None:
    text = page("dependencies.md")
    always = set(first_column(text, "## Always"))
    of_extras = set(re.findall(r"^\| `([\w-]+)` \| `([\w.-]+)` \|", text, re.MULTILINE))
    names = declared()
    assert always == names.pop("")
    assert of_extras == {(extra, name) for extra, found in names.items() for name in found}


def test_what_the_package_imports_is_a_dependency_that_is_named() -> None:
    imported = set()
    for _, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                imported.add(node.module.partition(".")[0])
    # typing_extensions is imported for type checkers only.
    foreign = imported - set(sys.stdlib_module_names) - {"__future__", "scrapy_polite", "typing_extensions"}
    text = page("dependencies.md")
    assert {name for name in foreign if f"`{DIST_OF.get(name, name)}`" not in text} == set()


# -- README, and the site as a whole


def test_the_readme_shows_the_commands_and_the_one_line() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for shown in ("make demo", "make test", "make compare", 'ADDONS = {"scrapy_polite.Addon": 300}'):
        assert shown in readme
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert {command.split()[1] for command in re.findall(r"`(make [a-z]+)`", readme)} <= targets


def test_links_of_the_readme_lead_somewhere() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)", readme):
        assert target.startswith("https://") or (ROOT / target).exists(), target


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    missing = [name for name in ("sphinx", "furo", "myst_parser") if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"the documentation needs {', '.join(missing)}: pip install -e '.[docs]'")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-n", "-q", "-b", "html"]
    command += ["-d", str(tmp_path / "doctrees"), str(DOCS), str(tmp_path / "html")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=250, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr

    from scrapy_polite.settings import SETTINGS

    settings = (tmp_path / "html" / "settings.html").read_text(encoding="utf-8")
    assert [setting.name for setting in SETTINGS if f"<h2>{setting.name}<" not in settings] == []
    commands = (tmp_path / "html" / "commands.html").read_text(encoding="utf-8")
    assert all(option in commands for option in ("--offline", "--ledger FILE", "--spider NAME"))
    drawn = (tmp_path / "html" / "how-it-works.html").read_text(encoding="utf-8")
    assert drawn.count('<svg xmlns="http://www.w3.org/2000/svg" id="stations"') == 1
