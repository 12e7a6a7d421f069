"""The bulk of a page: style, script, vector and inline-image text without meaning, cut from a few long strings.

It looks like what pages carry (digests, timestamps, version numbers, minified code), holds no key and no telephone
number, and costs next to nothing to serve.
"""

from __future__ import annotations

import base64
import string
from typing import TYPE_CHECKING

from town.seeds import seeded

if TYPE_CHECKING:
    from random import Random

LENGTH = 150_000


def grown(random: Random, rule: str, length: int = LENGTH) -> str:
    parts: list[str] = []
    size = 0
    while size < length:
        name = "".join(random.choices(string.ascii_lowercase, k=random.randint(2, 6)))
        number = random.randint(10, 999)
        part = rule.format(
            name=name,
            number=number,
            stamp=random.randint(1_500_000_000_000, 1_790_000_000_000),
            hex=f"{random.getrandbits(64) | 1 << 63:x}",
        )
        parts.append(part)
        size += len(part)
    return "".join(parts)


def inner(text: str, separator: str) -> str:
    """`text` between the first and the last separator: no half rules at the cuts."""
    return text.partition(separator)[2].rpartition(separator)[0]


class Filler:
    """Text of a wished length; equal seeds, equal text."""

    def __init__(self, seed: int) -> None:
        random = seeded(seed, "filler")
        self.style = grown(random, ".{name}-{number}{{margin:{number}px auto;color:#a1b2c3;transition:opacity .2s}}\n")
        self.script = grown(
            random,
            "function {name}{number}(e,t){{return e.map(function(n){{return n*{number}+t}})}}"
            'var unk_{name}={{"build":"{hex}","at":{stamp},"version":"3.{number}.1"}};\n',
        )
        self.path = grown(random, "c{number},-7,{number},12 l-9,{number} z ")
        self.picture = base64.b64encode(random.randbytes(LENGTH * 3 // 4)).decode()
        digest = base64.b64encode(random.randbytes(48)).decode()
        self.head = f'<link rel="stylesheet" href="/static/site.css" integrity="sha384-{digest}" crossorigin="anonymous">'

    def bulk(self, size: int, turn: int) -> str:
        """About `size` characters of HTML; `turn` says where the cut begins."""
        if size < 400:
            return ""
        start, newline = turn % 5000, "\n"
        style = self.style[start : start + size // 4]
        script = self.script[start : start + size // 3]
        path = self.path[start : start + size // 8]
        picture = self.picture[start : start + size - len(style) - len(script) - len(path) - 260]
        return (
            f"<style>{inner(style, newline)}</style>"
            f"<script>{inner(script, newline)}</script>"
            f'<svg class="plan" viewBox="0 0 900 900"><path d="M9,9 {inner(path, " z ")} z"/></svg>'
            f'<img class="blur" alt="" src="data:image/webp;base64,{picture[: len(picture) // 4 * 4]}">'
        )
