"""The short form of `make fuzz`: every seed, and a few seconds of mutations."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "fuzz"))

import fuzz_images
import fuzz_naming


def test_no_text_and_no_spelling_breaks_a_rule() -> None:
    assert fuzz_naming.run_mutations(3.0) > len(fuzz_naming.corpus())


@pytest.mark.parametrize("data", [b"", b"\x00", b"\x01", b"\x02", b"\x03\xed\xb2\x80", b"\x04\xff\xfe"])
def test_inputs_at_the_edge(data: bytes) -> None:
    fuzz_naming.check(data)


def test_no_image_breaks_a_rule() -> None:
    assert fuzz_images.run_mutations(3.0) > len(fuzz_images.corpus())


@pytest.mark.parametrize("data", [b"", *(bytes([kind]) for kind in range(6))])
def test_images_at_the_edge(data: bytes) -> None:
    fuzz_images.check(data)
