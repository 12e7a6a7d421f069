"""Made-up pages: of listings as estate agents write them, and the same with images in base64, seeded."""

from __future__ import annotations

import base64
import html
import json
from typing import TYPE_CHECKING

from benchmarks.redacting.placements import PLACEMENTS, placed
from benchmarks.redacting.values import made
from benchmarks.worlds.words import FIRST, LAST

if TYPE_CHECKING:
    from collections.abc import Iterable
    from random import Random

    from benchmarks.redacting.values import Made

__all__ = ["listing", "listings", "with_images", "with_values"]

_SAID = """
A bright and airy home with gardens to the front and rear, off-street parking for two cars and a short walk from the station;
viewing is by appointment only, and is recommended. The kitchen was fitted in 2019. No chain. EPC rating C. Council tax band D;
the rent is paid monthly in advance and a deposit of five weeks is held by a scheme.
"""
_WORDS = _SAID.split()
# What a page of an agent nearly always has: a map's keys, a card payment's, an error reporter's.
_USUAL = ("google-api-key", "mapbox-public", "stripe-publishable")
_STYLE = "".join(
    f".card-{number}{{margin:{number}px;background:url('/i/{number}@2x.png')}}@media(min-width:{600 + number}px){{a{{b:0}}}}"
    for number in range(40)
)


def _place(random: Random) -> str:
    return (random.choice(FIRST) + random.choice(LAST)).title()


def _card(random: Random, number: int) -> tuple[str, dict[str, object]]:
    name = f"{random.randint(1, 240)} {_place(random)} Road, {_place(random)}"
    price = random.randint(90, 990) * 1000
    said = " ".join(random.choices(_WORDS, k=45))
    known: dict[str, object] = {
        "id": random.randint(10**7, 10**8),
        "slug": name.lower().replace(" ", "-").replace(",", ""),
        "price": price,
        "position": [round(random.uniform(50, 55), 6), round(random.uniform(-3, 1), 6)],
        "hash": f"{random.getrandbits(160):040x}",
        "photos": [f"https://img.example/{random.getrandbits(64):016x}/{size}x{size}.jpg?v={number}" for size in (320, 640)],
        "said": said,
    }
    return (
        f'<article class="card card-{number} grid__item" id="listing-{known["id"]}" data-price="{price}">'
        f'<a href="/to-rent/{known["slug"]}?page={number}&amp;sort=price"><img loading="lazy" width="320" height="240" '
        f'alt="{html.escape(name)}" src="https://img.example/{known["hash"]}.jpg?w=320&amp;h=240&amp;fit=crop"></a>'
        f"<h2>{html.escape(name)}</h2><p class='price'>&pound;{price:,} <small>pcm</small></p><p>{said}</p></article>\n"
    ), known


def listing(random: Random, cards: int = 24, values: Iterable[Made] = ()) -> str:
    """A page with so many cards, their data again as JSON, styles, and the values where an agent's page has its keys."""
    made_cards = [_card(random, number) for number in range(cards)]
    keys = {value.kind: value.secret for value in values}
    scripts = "".join(
        f'<script src="https://x.example/api/js?key={key}&amp;libraries=places"></script>' for key in keys.values()
    )
    state = json.dumps({"listings": [known for _, known in made_cards], "keys": keys}, separators=(",", ":")).replace(
        "</", "<\\/"
    )
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Homes &amp; gardens</title>{scripts}'
        f"<style>{_STYLE}</style></head><body class='page page--list'><main>\n{''.join(card for card, _ in made_cards)}</main>"
        f'<script id="state" type="application/json">{state}</script>'
        "<script>window.dataLayer=window.dataLayer||[];function g(){dataLayer.push(arguments)}g('js',new Date());</script>"
        "</body></html>"
    )


def listings(random: Random, pages: int) -> list[str]:
    """So many pages of some 50 KB, each with the keys that are usual."""
    return [listing(random, 24, [made(kind, random) for kind in _USUAL]) for _ in range(pages)]


def with_images(random: Random, pages: int, images: int = 6) -> list[str]:
    """Pages whose images stand in them, in base64."""
    found = []
    for _ in range(pages):
        data = [base64.b64encode(random.randbytes(random.randint(10_000, 40_000))).decode() for _ in range(images)]
        pictures = "".join(f'<p><img src="data:image/jpeg;base64,{image}"></p>\n' for image in data)
        found.append(listing(random, 6).replace("</main>", f"{pictures}</main>"))
    return found


def with_values(random: Random, values: Iterable[Made]) -> str:
    """A page of a listing with each value in a placement drawn for it, what is no markup escaped as the text of a page."""
    pieces = []
    for value in values:
        piece = placed(random.choice(list(PLACEMENTS)), value)
        pieces.append(
            piece if piece.startswith("<") and not piece.startswith(("<?", "<c>", "<tr")) else f"<p>{html.escape(piece)}</p>"
        )
    return listing(random, 2).replace("</main>", "\n".join(pieces) + "</main>")
