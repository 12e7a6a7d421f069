"""What a store remembers of an image: enough to tell an item about it, and to see which sizes are out of date.

It is JSON text: metadata of the original in S3 and GCS, where the one request that asks for the original reads it, and
a small file of its own on disk and in FTP, which know no metadata.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, cast

from scrapy_polite.images.policy import Header
from scrapy_polite.media.info import VariantInfo, nothing_known

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy_polite.images.policy import ImagesConfig, Picture, Size

KEY = "polite"
"""The name of the metadata."""

# S3 takes 2 KB of metadata of its user's, names and values together (UsingMetadata.html of its guide); GCS takes 8 KiB.
# 300 bytes are left for the width and height that Scrapy adds, and for a subclass's own.
LONGEST = 1_750

_MOST = 2**53
"""Above every whole number that is remembered: seconds, bytes and pixels."""


@dataclass(frozen=True, slots=True)
class Made:
    """One stored size: how it was made (`recipe`), and what came of it. Pixels, bytes."""

    recipe: str
    width: int
    height: int
    format: str
    bytes: int
    frames: int = 1


@dataclass(frozen=True, slots=True)
class Kept:
    """A stored image. fetched: when it came from its site, in Unix seconds. sha256, bytes: of what is stored.

    original: how (`POLITE_IMAGES['original']`). all_sizes: one recipe for all sizes, where there are more of them than
    metadata have room for; then `sizes` is empty, and how large they are is not known.
    """

    fetched: int
    sha256: str
    bytes: int
    header: Header
    original: str = "keep"
    perceptual_hash: str | None = None
    blurhash: str | None = None
    sizes: Mapping[str, Made] = field(default_factory=dict)
    all_sizes: str = ""

    def text(self, longest: int = 1_000_000) -> str:
        """JSON in ASCII, without line breaks."""
        sizes = {name: list(asdict(made).values()) for name, made in self.sizes.items()}
        shape = list(asdict(self.header).values())
        text = json.dumps({**asdict(self), "header": shape, "sizes": sizes}, separators=(",", ":"))
        if len(text) <= longest:
            return text
        return replace(self, sizes={}, all_sizes=_digest([[name, made.recipe] for name, made in self.sizes.items()])).text()

    def lacks(self, paths: Mapping[str, str], config: ImagesConfig) -> list[Size]:
        """The sizes of config that are not stored at their paths as config wants them."""
        wanted = {size.name: recipe(size, paths[size.name], config) for size in config.sizes}
        if self.all_sizes and self.all_sizes == _digest([[name, how] for name, how in wanted.items()]):
            return []
        return [
            size for size in config.sizes if size.name not in self.sizes or self.sizes[size.name].recipe != wanted[size.name]
        ]

    def lacks_hashes(self, config: ImagesConfig) -> bool:
        return bool((config.perceptual_hash and not self.perceptual_hash) or (config.blurhash and not self.blurhash))

    def variants(self, paths: Mapping[str, str]) -> dict[str, VariantInfo]:
        return {name: self._variant(name, path) for name, path in paths.items()}

    def _variant(self, name: str, path: str) -> VariantInfo:
        made = self.sizes.get(name)
        if made is None:
            return nothing_known(path)
        size = {"width": made.width, "height": made.height, "format": made.format, "bytes": made.bytes, "frames": made.frames}
        return cast("VariantInfo", {"path": path, **size})


def recipe(size: Size, path: str, config: ImagesConfig) -> str:
    """A short digest of all that decides what a size looks like, and where it is."""
    return _digest([path, asdict(size), config.background, config.animation])


def kept_of(
    picture: Picture, length: int, fetched: int, paths: Mapping[str, str], config: ImagesConfig, before: Kept | None = None
) -> Kept:
    """What is to be remembered of a picture that was just made.

    length: bytes of the file that is written last, with this: the original, or a size where no original is stored.
    before: what was known of the sizes that were not made now.
    """
    sizes = {size.name: size for size in config.sizes}
    made = dict(before.sizes) if before else {}
    for one in picture.variants:
        how = recipe(sizes[one.size], paths[one.size], config)
        made[one.size] = Made(how, one.width, one.height, one.format, len(one.data), one.frames)
    return Kept(
        fetched,
        picture.sha256,
        length,
        picture.header,
        config.original,
        picture.perceptual_hash,
        picture.blurhash,
        {name: made[name] for name in sizes if name in made},
    )


def read_kept(text: str | None) -> Kept | None:
    """What `Kept.text` wrote; None for anything else, which others may have put there."""
    if not text:
        return None
    try:
        found = json.loads(text)
        kept = Kept(
            **{
                **found,
                "header": Header(*found["header"]),
                "sizes": {name: Made(*made) for name, made in found["sizes"].items()},
            }
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return kept if _sound(kept) else None


def _sound(kept: Kept) -> bool:
    """Whether all is of its type and in its bounds, so that nobody stumbles over it later."""
    pictures: list[Header | Made] = [kept.header, *kept.sizes.values()]
    whole = [kept.fetched, kept.bytes, *(number for one in pictures for number in (one.width, one.height, one.frames))]
    whole += [made.bytes for made in kept.sizes.values()]
    texts = [kept.sha256, kept.original, kept.all_sizes, *(one.format for one in pictures)]
    texts += [made.recipe for made in kept.sizes.values()]
    texts += [text for text in (kept.perceptual_hash, kept.blurhash) if text is not None]
    return all(type(number) is int and 0 < number < _MOST for number in whole) and all(isinstance(text, str) for text in texts)


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:12]
