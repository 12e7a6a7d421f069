"""Which module may know which: the direction that the design fixes, read from the source, and proved by importing."""

from __future__ import annotations

import ast
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "scrapy_polite"

CORE_MAY_IMPORT: dict[str, set[str]] = {
    # Core folder -> the core folders that it may know besides itself.
    "naming": set(),
    "guard": {"naming"},
    "limits": {"naming"},
    "backoff": {"naming"},
    "redaction": {"naming"},
    "origins": {"naming", "guard", "limits", "backoff", "redaction"},
}
PURE_IMAGES = {
    "images.parts",
    *("images.policy", "images.policyforms", "images.plan", "images.signature", "images.hashes", "images.orientation"),
    *("images.avifmeta", "images.boxes", "images.strip", "images.stripavif", "images.stripgif", "images.stripjpeg"),
    *("images.strippng", "images.stripwebp"),
}
PURE_BROWSER = {"browser.options", "browser.heads"}
"""What a browser is started with, and what is read from its connections."""
WORLD = {"dns", "stores", "telemetry", "images"}
"""Folders that touch the outside: they know the core and each other, never the face."""

NOT_IN_THE_CORE = {
    *("scrapy", "twisted", "zope", "itemadapter", "dns", "psycopg", "pyvips"),
    *("asyncio", "socket", "sqlite3", "threading"),
    # What time it is, and what chance says, are arguments there.
    *("time", "random"),
}
NOT_IN_THE_WORLD = {"scrapy", "twisted", "zope"}
HEAVY = {
    "pyvips",
    "psycopg",
    "psycopg_pool",
    "duckdb",
    "playwright",
    "scrapy_playwright",
    "phonenumbers",
    "PIL",
    "botocore",
    "google",
}
"""Loaded only where their feature is used: never when a module is imported."""

STORE_INSIDES = {
    "stores.sqlite",
    "stores.sqliteorigins",
    "stores.memory",
    "stores.memoryorigins",
    "stores.files",
    "stores.schema",
    "stores.postgres",
    "stores.pglink",
    "stores.pgsession",
    "stores.pgschema",
    "stores.pgorigins",
    "stores.pgtext",
    "stores.memorydeferred",
    "stores.pgdeferred",
    "stores.sqlitedeferred",
}


@dataclass(frozen=True)
class Import:
    """One import: the module that is imported (ours without the package's name), and where it stands."""

    module: str
    ours: bool
    line: int
    at_run_time: bool
    """False under ``if TYPE_CHECKING``, which is never run."""
    at_module_level: bool

    @property
    def top(self) -> str:
        return self.module.partition(".")[0]


def module_name(path: Path) -> str:
    """``limits.gcra`` for scrapy_polite/limits/gcra.py; a package by its own name; "" for the root."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def known_modules() -> dict[str, Path]:
    return {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


MODULES = known_modules()


class _Imports(ast.NodeVisitor):
    def __init__(self, name: str, package: str) -> None:
        self.name = name
        self.package = package
        self.found: list[Import] = []
        self._type_checking = 0
        self._inside = 0

    def _add(self, full: str, line: int) -> None:
        root, _, rest = full.partition(".")
        ours = root == PACKAGE.name
        self.found.append(Import(rest if ours else full, ours, line, not self._type_checking, not self._inside))

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._add(alias.name, node.lineno)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        base = node.module or ""
        if node.level:
            above = [PACKAGE.name, *filter(None, self.package.split("."))]
            kept = above[: len(above) - (node.level - 1)]
            base = ".".join([*kept, *filter(None, [node.module])])
        for alias in node.names:
            # `from scrapy_polite.images import convert` imports a module, other names are in the module itself.
            inner = f"{base}.{alias.name}"
            is_module = inner.partition(".")[2] in MODULES and inner.startswith(f"{PACKAGE.name}.")
            self._add(inner if is_module else base, node.lineno)

    def visit_If(self, node: ast.If) -> None:
        checking = "TYPE_CHECKING" in ast.unparse(node.test)
        self._type_checking += checking
        for child in node.body:
            self.visit(child)
        self._type_checking -= checking
        for child in node.orelse:
            self.visit(child)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._inside += 1
        self.generic_visit(node)
        self._inside -= 1

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._inside += 1
        self.generic_visit(node)
        self._inside -= 1


def imports_of(name: str) -> list[Import]:
    path = MODULES[name]
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    visitor = _Imports(name, package)
    visitor.visit(ast.parse(path.read_text(encoding="utf-8")))
    return visitor.found


def room_of(name: str) -> str:
    """Which part of the layout a module belongs to: a core folder, a world folder, "pure images" or "face"."""
    if name in PURE_IMAGES:
        return "pure images"
    if name in PURE_BROWSER:
        return "pure browser"
    top = name.partition(".")[0]
    if top in CORE_MAY_IMPORT or top in WORLD:
        return top
    return "face"


def told(name: str, found: Import) -> str:
    what = f"{PACKAGE.name}.{found.module}".rstrip(".") if found.ours else found.module
    return f"{MODULES[name].relative_to(PACKAGE.parent)}:{found.line} imports {what}"


def modules_in(*rooms: str) -> list[str]:
    return [name for name in MODULES if room_of(name) in rooms]


def test_the_layout_is_the_one_that_is_checked() -> None:
    """A folder that nobody listed would be checked as the face, which may do the most."""
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert folders - set(CORE_MAY_IMPORT) - WORLD == {"browser", "commands", "media"}
    assert set(MODULES) >= PURE_IMAGES | PURE_BROWSER | STORE_INSIDES


@pytest.mark.parametrize("name", modules_in(*CORE_MAY_IMPORT))
def test_a_core_module_knows_only_the_core_below_it(name: str) -> None:
    room = room_of(name)
    wrong = []
    for found in imports_of(name):
        if found.ours:
            allowed = room_of(found.module) in {room, *CORE_MAY_IMPORT[room]} and found.module != ""
        else:
            allowed = found.top not in NOT_IN_THE_CORE
        if not allowed:
            wrong.append(told(name, found))
    assert not wrong


@pytest.mark.parametrize("name", modules_in("pure images"))
def test_the_judging_half_of_the_images_is_pure(name: str) -> None:
    wrong = [
        told(name, found)
        for found in imports_of(name)
        if (found.module not in PURE_IMAGES if found.ours else found.top in NOT_IN_THE_CORE | HEAVY)
    ]
    assert not wrong


@pytest.mark.parametrize("name", modules_in("pure browser"))
def test_the_judging_half_of_the_browser_is_pure(name: str) -> None:
    wrong = [
        told(name, found)
        for found in imports_of(name)
        if (room_of(found.module) not in {"naming", "guard"} if found.ours else found.top in NOT_IN_THE_CORE | HEAVY)
    ]
    assert not wrong


@pytest.mark.parametrize("name", modules_in(*WORLD))
def test_a_world_module_never_knows_the_face(name: str) -> None:
    wrong = [
        told(name, found)
        for found in imports_of(name)
        if (room_of(found.module) == "face" if found.ours else found.top in NOT_IN_THE_WORLD)
    ]
    assert not wrong


@pytest.mark.parametrize("name", modules_in("face"))
def test_the_face_never_knows_a_stores_insides(name: str) -> None:
    wrong = [told(name, found) for found in imports_of(name) if found.ours and found.module in STORE_INSIDES]
    assert not wrong


@pytest.mark.parametrize("name", MODULES)
def test_heavy_libraries_load_only_when_their_feature_is_on(name: str) -> None:
    wrong = [
        told(name, found)
        for found in imports_of(name)
        if found.top in HEAVY and not found.ours and found.at_module_level and found.at_run_time
    ]
    assert not wrong


LOADED = """
import importlib, sys
for name in {names!r}:
    importlib.import_module(name)
print(" ".join(sorted({{name.partition(".")[0] for name in sys.modules}} & {unwanted!r})))
"""


def loaded_by(names: list[str], unwanted: set[str]) -> set[str]:
    """Which of the ``unwanted`` libraries an interpreter has loaded after importing ``names``."""
    code = LOADED.format(names=names, unwanted=unwanted)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, cwd=PACKAGE.parent)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


@pytest.mark.parametrize("room", ["", *CORE_MAY_IMPORT, "pure images", "pure browser"])
def test_the_package_and_its_core_load_without_scrapy(room: str) -> None:
    names = [name for name in MODULES if room_of(name) == room] if room else [""]
    dotted = [f"{PACKAGE.name}.{name}".rstrip(".") for name in names]
    assert loaded_by(dotted, {"scrapy", "twisted", "dns", "psycopg", "pyvips", "phonenumbers"}) == set()


def test_the_whole_package_loads_without_its_heavy_libraries() -> None:
    """What a crawl without images and without phone numbers imports."""
    names = [f"{PACKAGE.name}.{name}".rstrip(".") for name in MODULES]
    assert loaded_by(names, HEAVY - {"PIL"}) == set()


def settings_written_without_priority(tree: ast.AST) -> list[int]:
    """Lines that change Scrapy's settings at the default priority, ``project``, where a user's own value would be lost."""
    lines = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner, method = ast.unparse(node.func.value).lower(), node.func.attr
            stated = any(keyword.arg == "priority" for keyword in node.keywords)
            # A context variable's set() has one argument.
            if method == "set" and len(node.args) + len(node.keywords) >= 2 and len(node.args) < 3 and not stated:
                lines.append(node.lineno)
            if method in ("setdict", "setmodule", "update") and "settings" in owner and len(node.args) < 2 and not stated:
                lines.append(node.lineno)
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.Delete)):
            targets = [node.target] if isinstance(node, ast.AugAssign) else node.targets
            lines += [
                target.lineno
                for target in targets
                if isinstance(target, ast.Subscript) and ast.unparse(target.value).lower().endswith("settings")
            ]
    return sorted(lines)


@pytest.mark.parametrize("name", MODULES)
def test_no_setting_is_set_without_a_priority(name: str) -> None:
    lines = settings_written_without_priority(ast.parse(MODULES[name].read_text(encoding="utf-8")))
    assert not lines, f"{MODULES[name].relative_to(PACKAGE.parent)}: lines {lines}"


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        ('settings.set("A", 1)', [1]),
        ('settings.set(name="A", value=1)', [1]),
        ('settings.set("A", 1, priority="addon")', []),
        ('settings.set("A", 1, 15)', []),
        ('crawler.settings["A"] = 1', [1]),
        ("del settings['A']", [1]),
        ('settings.setdict({"A": 1})', [1]),
        ('settings.setdict({"A": 1}, priority="cmdline")', []),
        ("TICKET.set(ticket)", []),
    ],
)
def test_the_lint_sees_what_it_is_there_for(code: str, lines: list[int]) -> None:
    assert settings_written_without_priority(ast.parse(code)) == lines


def test_imports_are_read_in_every_form() -> None:
    visitor = _Imports("limits.plan", "limits")
    visitor.visit(
        ast.parse(
            "from .gcra import Demand\nfrom ..images import convert\nimport twisted.internet\n"
            "if TYPE_CHECKING:\n    import scrapy\ndef f():\n    import pyvips\n"
        )
    )
    seen = [(found.module, found.ours, found.at_run_time, found.at_module_level) for found in visitor.found]
    assert seen == [
        ("limits.gcra", True, True, True),
        ("images.convert", True, True, True),
        ("twisted.internet", False, True, True),
        ("scrapy", False, False, True),
        ("pyvips", False, True, False),
    ]
