"""Words that made-up names are put together from."""

from __future__ import annotations

from typing import Final

_FIRST: Final = (
    "ash bay bram cal clay cob dale dun elm fen glen hart haw hex holt ivy kes kirk lang lea lin low marl mel nor "
    "oak ox pen quar rad row san sel shaw stan thorn tor ul vale wal wes win wy yar"
)
_LAST: Final = (
    "bank beck bourne bridge brook burn bury by combe cote croft den field ford gate grove hall ham hill holme "
    "hurst ley low mere moor ness port ridge rise shaw side stead stoke stow ton vale ville wick wood worth"
)
_TRADE: Final = (
    "homes lets estates law dental cafe garden auto books travel yoga bikes foods design media build tiles toys "
    "vets pets hire print"
)
_BRAND_SYLLABLES: Final = (
    "arb bel cor dex dom est fox gal hab hom ilo jun kel lumo mav nex orb pix quo rea sol tix uni vex wix zor agent "
    "prop land key"
)

FIRST: Final = tuple(_FIRST.split())
LAST: Final = tuple(_LAST.split())
TRADE: Final = tuple(_TRADE.split())
BRAND_SYLLABLES: Final = tuple(_BRAND_SYLLABLES.split())
