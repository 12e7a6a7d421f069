"""``scrapy polite redact``, run as an operator runs it."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest
from commandline import command, environment, objects, polite
from made_up_keys import made_up_keys

from scrapy_polite.commands import redact
from scrapy_polite.redaction.policy import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

KEY = made_up_keys()["stripe-secret"]
GONE = "~redacted-stripe-secret~"


def test_a_file_comes_out_without_its_keys_and_octet_for_octet_otherwise(tmp_path: Path) -> None:
    octets = b"\xef\xbb\xbfa=" + KEY.encode() + b"\r\n\xff\xfe\x80 \x1b[0m " + "é".encode("latin-1") + b"\r\n" + KEY.encode()
    (tmp_path / "in").write_bytes(octets)
    done = subprocess.run(
        command("redact", "in"), cwd=tmp_path, env=environment(tmp_path), capture_output=True, timeout=60, check=True
    )
    assert done.stdout == octets.replace(KEY.encode(), GONE.encode())


def test_standard_input_is_read_where_no_file_is_named(tmp_path: Path) -> None:
    for arguments in ((), ("-",)):
        done = polite("redact", *arguments, cwd=tmp_path, stdin=f"k={KEY} jo@x.example")
        assert (done.returncode, done.stdout) == (0, f"k={GONE} jo@x.example")


@pytest.mark.parametrize("policy", ["gdpr-strict", '{"kinds": {"email": "replace"}}'])
def test_the_policy_is_the_one_that_is_given_or_the_projects(tmp_path: Path, policy: str) -> None:
    text = f"{KEY} jo@x.example"
    wanted = f"{GONE} ~redacted-email~"
    assert polite("redact", "--policy", policy, cwd=tmp_path, stdin=text).stdout == wanted
    assert polite("redact", "-s", f"POLITE_REDACT={policy}", cwd=tmp_path, stdin=text).stdout == wanted


def test_a_field_may_be_named(tmp_path: Path) -> None:
    policy = json.dumps({"preset": "gdpr-strict", "fields": {"*.contact": "keep"}})
    text = json.dumps({"contact": "jo@x.example", "other": "jo@x.example"})
    done = polite("redact", "--policy", policy, "--field", "page", cwd=tmp_path, stdin=text)
    assert json.loads(done.stdout) == {"contact": "jo@x.example", "other": "~redacted-email~"}


def test_the_kinds_are_listed_with_what_the_policy_does_with_them(tmp_path: Path) -> None:
    rule = {"kind": "staff-badge", "anchors": "BDG-", "shape": "BDG-[0-9]{6}", "provider": "us"}
    policy = json.dumps({"preset": "gdpr-strict", "kinds": {"uk-*": "drop"}, "fields": {"office": "keep"}, "rules": [rule]})
    done = polite("redact", "--kinds", "--policy", policy, cwd=tmp_path)
    rows = {kind: rest for kind, *rest in map(str.split, done.stdout.splitlines())}
    assert rows["stripe-secret"] == ["secret", "replace", "Stripe"]
    assert rows["uk-nhs"] == ["personal", "drop", "any"]
    assert rows["staff-badge"] == ["secret", "replace", "us"]
    listed = objects(polite("redact", "--kinds", "--json", "--policy", policy, "--field", "office", cwd=tmp_path))
    assert {one["kind"]: one["action"] for one in listed} == dict.fromkeys(rows, "keep")
    assert set(KINDS) < set(rows)


def test_json_shows_where_what_was_found_and_never_the_value(tmp_path: Path) -> None:
    text = f"ü {KEY}, {json.dumps({'k': KEY})}"
    done = polite("redact", "--json", cwd=tmp_path, stdin=text)
    assert KEY not in done.stdout + done.stderr
    found = objects(done)
    assert [text[one["start"] : one["end"]] for one in found] == [KEY, KEY]
    assert [(one["kind"], one["action"], set(one)) for one in found] == [
        ("stripe-secret", "replace", {"kind", "start", "end", "action"})
    ] * 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("missing.txt",), "missing.txt: cannot be read"),
        (("--policy", "everything"), "there is no preset 'everything'"),
        (("-s", "POLITE_REDACT="), "give --policy"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_written(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    done = polite("redact", *arguments, cwd=tmp_path, stdin=KEY)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def test_what_could_not_be_checked_is_left_out_and_the_exit_code_says_so(tmp_path: Path) -> None:
    done = polite("redact", cwd=tmp_path, stdin=b"x" + f"k={KEY}".encode("utf-16-le"))
    assert (done.returncode, done.stdout) == (1, "~redacted-text~")
    assert "left out: nulls" in done.stderr


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_a_byte_order_mark_is_believed(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "in").write_bytes(f"größe: {KEY}".encode(encoding))
    done = subprocess.run(
        command("redact", "in"), cwd=tmp_path, env=environment(tmp_path), capture_output=True, timeout=60, check=True
    )
    assert done.stdout.decode(encoding) == f"größe: {GONE}"


# -- inputs that are longer than what is read as a whole


def results(text: str, policy: str = "gdpr-strict", chunk: int = 777) -> list[str]:
    from scrapy_polite.redaction import Redactor, policy_from
    from scrapy_polite.redaction.structured import StructuredRedactor

    chosen = policy_from(policy)
    assert chosen is not None
    chunks: Iterable[str] = (text[at : at + chunk] for at in range(0, len(text), chunk))
    return [result.text for result in redact._results(StructuredRedactor(Redactor(chosen)), chunks, "")]


@pytest.fixture
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redact, "WHOLE", 2_000)


@pytest.mark.usefixtures("_short")
def test_a_long_feed_is_read_line_by_line_and_stays_json() -> None:
    rows = [{"id": 447000000000 + n, "key": KEY, "geo": {"latitude": 51.50123}, "name": "Jo"} for n in range(100)]
    array = "[\n" + ",\n".join(map(json.dumps, rows)) + "\n]"
    lines = "".join(f"{json.dumps(row)}\r\n" for row in rows)
    for text in (array, lines):
        answer = results(text)
        assert len(answer) >= 100
        read = json.loads("".join(answer)) if text is array else [json.loads(line) for line in "".join(answer).splitlines()]
        assert [row["id"] for row in read] == [row["id"] for row in rows]
        assert {row["key"] for row in read} == {GONE}


@pytest.mark.usefixtures("_short")
def test_another_long_text_is_read_in_pieces_with_every_value_found() -> None:
    text = "".join(f"<p>{n} {KEY} jo{n}@x.example</p>\n" for n in range(20_000))
    answer = results(text)
    assert len(answer) > 2
    assert "".join(answer) == "".join(f"<p>{n} {GONE} ~redacted-email~</p>\n" for n in range(20_000))


@pytest.mark.usefixtures("_short")
def test_a_line_that_no_feed_has_is_an_error() -> None:
    with pytest.raises(ValueError, match="a line has more than"):
        results('{"a": 1}\n' + "x" * 10_000)


@pytest.mark.usefixtures("_short")
@pytest.mark.parametrize("first", ["[main]", "[", '{"a": 1}'])
def test_a_key_of_several_lines_is_one_whatever_the_first_line_looks_like(first: str) -> None:
    body = "\n".join(f"MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ{number:02d}Yx" for number in range(20))
    key = f"-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n"
    text = f"{first}\n" + "a line of words\n" * 300 + key + '{"key": "' + KEY + '"}\n' + "and more\n"
    answer = "".join(results(text))
    assert answer.count("\n") < text.count("\n")
    assert "MIIEvQ" not in answer
    assert answer.endswith(f'{{"key": "{GONE}"}}\nand more\n')
