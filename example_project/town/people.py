"""People of the town: names, e-mail addresses and telephone numbers that belong to nobody.

Numbers come from the ranges that Ofcom keeps free for drama, in the areas where they also count as valid numbers
(https://www.ofcom.org.uk/phones-and-broadband/phone-numbers/numbers-for-drama).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from random import Random

FIRST: Final = [
    "Sophie",
    "Daniel",
    "Priya",
    "Thomas",
    "Grace",
    "Owen",
    "Amara",
    "Lewis",
    "Chloe",
    "Idris",
    "Freya",
    "Callum",
    "Nadia",
    "Rhys",
    "Isla",
    "Marcus",
    "Elin",
    "Joseph",
    "Zara",
    "Hugh",
    "Martha",
    "Kofi",
    "Alice",
    "Ewan",
    "Leila",
    "Patrick",
    "Tessa",
    "Gareth",
    "Mina",
    "Robert",
]
LAST: Final = [
    "Hart",
    "Okafor",
    "Bennett",
    "Shah",
    "Calder",
    "Price",
    "Lindqvist",
    "Marsh",
    "Doyle",
    "Fenwick",
    "Abbas",
    "Thorne",
    "Wainwright",
    "Mackay",
    "Pryce",
    "Holloway",
    "Sutton",
    "Bryant",
    "Keane",
    "Ashworth",
    "Novak",
    "Ellison",
    "Farrow",
    "Gill",
    "Rowntree",
    "Tully",
]

DRAMA: Final = (
    ("20", "7946 0", 3),
    ("113", "496 0", 3),
    ("114", "496 0", 3),
    ("116", "496 0", 3),
    ("117", "496 0", 3),
    ("118", "496 0", 3),
    ("121", "496 0", 3),
    ("131", "496 0", 3),
    ("141", "496 0", 3),
    ("151", "496 0", 3),
    ("161", "496 0", 3),
    ("191", "498 0", 3),
)
"""Area code without the leading 0, the fixed digits of the range, how many digits are free."""


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who works for an agency; `spoken`: the number as people write it, `dialled`: as ``tel:`` links do."""

    name: str
    email: str
    spoken: str
    dialled: str


def person(random: Random, domain: str) -> Person:
    """A made-up person with an address at `domain` and a British number."""
    first, last = random.choice(FIRST), random.choice(LAST)
    local = random.choice((f"{first}.{last}", f"{first[0]}{last}", f"{first}_{last[0]}", f"{first}+lettings")).lower()
    area, fixed, free = random.choice(DRAMA)
    subscriber = fixed + "".join(random.choices("0123456789", k=free))
    digits = subscriber.replace(" ", "")
    spoken = random.choice((f"0{area} {subscriber}", f"(0{area}) {subscriber}", f"+44 {area} {subscriber}", f"0{area}{digits}"))
    return Person(f"{first} {last}", f"{local}@{domain}", spoken, f"+44{area}{digits}")
