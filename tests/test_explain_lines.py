"""``explain -``: whatever comes on standard input is answered line by line, and who writes or reads may go away."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
import tracemalloc
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from commandline import command, environment, objects, polite
from nameserver import Script, name_server_in_a_thread

from scrapy_polite.commands.lines import CHUNK, INTERRUPTED, LONGEST, NOBODY_READS, decoded, lines
from scrapy_polite.naming.hosts import MAX_URL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

OFFLINE = ("explain", "--offline", "--json", "-")


def pieces(*given: bytes) -> Callable[[int], bytes]:
    """A stream that gives these, one a read."""
    left = iter(given)
    return lambda size: next(left, b"")


def read(*given: bytes) -> list[bytes]:
    return list(lines(pieces(*given), lambda: None))


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (b"", []),
        (b"\n \n\r\n", []),
        (b"a", [b"a"]),
        (b"a\r\nb\r\n", [b"a", b"b"]),
        (b"\xef\xbb\xbfa\n\xef\xbb\xbfb", [b"a", b"\xef\xbb\xbfb"]),
        (b"\xef\xbb\xbf", []),
        (b"\t a b \x00\xff\n", [b"a b \x00\xff"]),
    ],
)
def test_lines_however_they_are_cut(given: bytes, found: list[bytes]) -> None:
    assert read(given) == found
    assert read(*(bytes((octet,)) for octet in given)) == found
    assert read(given[:3], given[3:]) == found


def test_a_line_that_is_too_long_is_cut_and_the_next_one_is_whole() -> None:
    long = [b"x" * CHUNK] * (3 * LONGEST // CHUNK)
    cut, after, exact = read(*long, b"x\nafter\n", b"y" * LONGEST, b"\n")
    assert (len(cut), after, len(exact)) == (LONGEST + 1, b"after", LONGEST)
    assert decoded(exact)[1] is None
    text, wrong = decoded(cut)
    assert wrong is not None
    assert (wrong.reason, len(text)) == ("bad_url", 103)


def test_a_line_without_end_takes_no_memory() -> None:
    chunk = b"x" * CHUNK
    left = iter([chunk] * (200 * LONGEST // CHUNK))
    tracemalloc.start()
    try:
        (line,) = lines(lambda size: next(left, b""), lambda: None)
        assert tracemalloc.get_traced_memory()[1] < 8 * LONGEST
    finally:
        tracemalloc.stop()
    assert len(line) == LONGEST + 1


def test_who_writes_has_all_answers_before_the_next_line_is_waited_for() -> None:
    told: list[str] = []
    told.extend(line.decode() for line in lines(pieces(b"a\nb\nc", b"\n"), lambda: told.append("waits")))
    assert told == ["waits", "a", "b", "waits", "c", "waits"]


def test_what_is_not_utf_8_is_no_url_and_is_shown() -> None:
    text, wrong = decoded(b"http://a.example/caf\xe9")
    assert (text, wrong and wrong.reason) == ("http://a.example/caf\\xe9", "bad_url")


def test_any_octets_are_answered_one_line_each(tmp_path: Path) -> None:
    given = [
        b"http://a.example/\r",
        b"http://a.example/\xff\xfe",
        b"http://a\x00b.example/",
        b"http://a.example/\x1b[2J",
        "http://a.example/\u2028\u0085x".encode(),
        b"\xed\xa0\x80",
        b"http://a.example/" + b"x" * (MAX_URL - 17),
        b"http://a.example/" + b"x" * (MAX_URL - 16),
        b"y" * (2 * LONGEST),
        bytes(octet for octet in range(256) if octet != 10),
        b"-",
        b"--json",
        b"http://b.example/",
    ]
    done = polite(*OFFLINE, cwd=tmp_path, stdin=b"\xef\xbb\xbf" + b"\n".join(given))
    found = objects(done)
    assert done.returncode == 1
    assert [one["admitted"] for one in found] == [
        None,
        False,
        False,
        None,
        None,
        False,
        None,
        *[False] * 5,
        None,
    ]
    assert found[0]["url"] == "http://a.example/"
    assert found[4]["url"] == "http://a.example/\u2028\u0085x"
    assert found[-1]["url"] == "http://b.example/"
    assert "Traceback" not in done.stderr


def test_an_argument_may_be_any_octets_too(tmp_path: Path) -> None:
    done = polite("explain", "--offline", "--json", os.fsdecode(b"http://a.example/\xe9"), "", cwd=tmp_path)
    assert [one["rule"] for one in objects(done)] == ["bad_url", "bad_url"]


def test_letters_that_the_terminal_does_not_know_are_escaped(tmp_path: Path) -> None:
    done = polite("explain", "--offline", "http://b\u00fccher.example/", cwd=tmp_path, PYTHONIOENCODING="ascii")
    assert "b\\xfccher.example" in done.stdout
    assert done.returncode == 0


@contextmanager
def started(*arguments: str, cwd: Path) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        command(*arguments),
        cwd=cwd,
        env=environment(cwd),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait(timeout=30)
        for stream in (process.stdin, process.stdout, process.stderr):
            assert stream is not None
            stream.close()


def quiet(errors: bytes) -> bool:
    """Nothing but the note that the add-on is not on here."""
    return all(line.startswith(b"Note: ") for line in errors.splitlines())


def test_an_answer_comes_while_the_pipe_is_open(tmp_path: Path) -> None:
    with started(*OFFLINE, cwd=tmp_path) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for url in ("http://a.example/", "http://b.example/"):
            process.stdin.write(f"{url}\n".encode())
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["url"] == url
        out, errors = process.communicate(timeout=30)
        assert (out, process.returncode) == (b"", 0)
        assert quiet(errors)


def test_a_reader_that_goes_away_ends_it_quietly(tmp_path: Path) -> None:
    with started(*OFFLINE, cwd=tmp_path) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(b"http://a.example/\n")
        process.stdin.flush()
        process.stdout.readline()
        process.stdout.close()
        process.stdin.write(b"http://a.example/\n")
        process.stdin.close()
        errors = process.stderr.read()
        assert process.wait(timeout=30) == NOBODY_READS
        assert quiet(errors)


def test_an_interrupt_while_it_waits_for_a_line_ends_it_quietly(tmp_path: Path) -> None:
    with started(*OFFLINE, cwd=tmp_path) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(b"http://a.example/\n")
        process.stdin.flush()
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == INTERRUPTED
        assert quiet(process.stderr.read())


def test_an_interrupt_during_a_look_up_ends_it_quietly(tmp_path: Path) -> None:
    script = Script()
    script.faults["slow.test"] = "silent"
    with name_server_in_a_thread("127.0.0.1", script) as server:
        servers = ("-s", f"POLITE_DNS_SERVERS={server}", "-s", "POLITE_DNS_TIMEOUT=300")
        with started("explain", *servers, "http://10.0.0.1/", "http://slow.test/", cwd=tmp_path) as process:
            assert process.stderr is not None
            assert process.stdout is not None
            assert process.stdout.readline() == b"http://10.0.0.1/\n"
            until = time.monotonic() + 20
            while not script.asked and time.monotonic() < until:
                time.sleep(0.01)
            assert script.asked
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=30) == INTERRUPTED
            assert quiet(process.stderr.read())
