"""Image services, watched: whether an account of one behaves as an edge or as a bucket.

A service that resizes on the fly may stand in front of somebody's web server, so that each image that it has not yet made costs
that server a download; or the masters are in the service's own store, and nobody else is asked. Which of the two is told by
what its answers carry: what a cache did is the word of an edge, a request id of an object store the mark of a bucket. Until
enough of them agree, and again when they stop agreeing, an account is unknown, which is treated as an edge whose answers are
all misses: slow, and safe whatever is behind it.

An account may hold both, in different folders: so the first part of the path is watched for itself, and has its own say where
it differs.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from scrapy_polite.origins.notes import Behaviour, NotedPart

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["BUCKET_MARKS", "Behaviour", "Part", "Sign", "Switch", "Watching", "account_among", "folder_of", "sign_of"]

BUCKET_MARKS: Final = (
    # What the object stores put on each object that they serve, and no cache in front adds (read 2026-11).
    "x-amz-request-id",  # docs.aws.amazon.com/AmazonS3/latest/API/RESTCommonResponseHeaders.html; and most compatible stores
    "x-amz-id-2",
    "x-goog-generation",  # cloud.google.com/storage/docs/xml-api/reference-headers
    "x-goog-stored-content-length",
    "x-guploader-uploadid",
    "x-ms-blob-type",  # learn.microsoft.com/rest/api/storageservices/get-blob
    "x-oss-request-id",  # www.alibabacloud.com/help/oss/developer-reference/common-http-headers
    "x-cos-request-id",  # www.tencentcloud.com/document/product/436/7729
    "x-obs-request-id",  # support.huaweicloud.com, OBS API reference, common response headers
    "x-bz-file-id",  # www.backblaze.com/apidocs/b2-download-file-by-name
    "x-openstack-request-id",  # docs.openstack.org/api-ref/object-store
)

ENOUGH: Final = 20
AGREEING: Final = 0.9
"""Answers that are looked at before an account, or a folder of it, is called something; and the share that must agree."""

REMEMBERED: Final = 40
"""Answers that are looked at."""

LATELY: Final = 10
CONTRARY: Final = 0.5
"""Of so many newest answers less than this share agree with what it is called: it is called unknown again. Sooner than it got
the name, since what is called a bucket is asked faster."""

OBJECTING: Final = 5
"""Answers of a folder that may object to what the account is called."""

ACCOUNTS: Final = 1000
FOLDERS: Final = 8
"""What is watched at most. An account that was not heard of for longest is forgotten; of one, the folders that came first."""

LONGEST: Final = 64
"""Characters of a folder; what is longer is no folder but an image's id or a URL."""


@dataclass(frozen=True, slots=True)
class Sign:
    """What one answer shows: the behaviour that it speaks for ("unknown": nothing), by which header, and whether it was a
    proven hit."""

    of: Behaviour
    header: str = ""
    hit: bool = False


@dataclass(frozen=True, slots=True)
class Switch:
    """An account, or a ``folder`` of it, is called something else from now on; ``because`` is one sentence."""

    account: str
    folder: str
    before: Behaviour
    now: Behaviour
    because: str


class Part(NamedTuple):
    """An account (``folder`` ""), or a folder of it, that has its own say: as what it is treated, and the sentence of the last
    switch; "" where it never had a name. ``at``: when that was noted in an earlier process, in unix seconds; 0: in none."""

    folder: str
    behaviour: Behaviour
    because: str
    at: float


def sign_of(names: Iterable[str], hit: bool | None, header: str = "") -> Sign:
    """The sign of an answer with headers of these names (lower-case). ``hit``: whether a cache said that it had it, in
    ``header``; None: no cache said anything. The word of a cache weighs more: behind it there may be a bucket."""
    if hit is not None:
        return Sign("edge", header, hit)
    there = set(names)
    mark = next((mark for mark in BUCKET_MARKS if mark in there), None)
    return Sign("bucket", mark) if mark is not None else Sign("unknown")


def account_among(keys: Iterable[str]) -> str | None:
    """The account of an image service that is among these keys."""
    return next((key for key in keys if key.startswith("imageservice:")), None)


def folder_of(account: str, path: str) -> str:
    """The first part of a path behind the account's own name, if it is a folder; else ""."""
    name = account.rpartition("/")[2]
    parts = path.partition("?")[0].split("/")[1:]
    if parts and parts[0].lower() == name:
        del parts[0]
    return parts[0] if len(parts) > 1 and len(parts[0]) <= LONGEST else ""


@dataclass(slots=True)
class _Watched:
    """The newest signs, and what they made of it; ``at`` as in :class:`Part`."""

    behaviour: Behaviour = "unknown"
    because: str = ""
    at: float = 0.0
    ring: deque[Sign] = field(default_factory=lambda: deque(maxlen=REMEMBERED))

    def hear(self, sign: Sign, name: str) -> tuple[Behaviour, Behaviour] | None:
        """What it was called before and is called now, if that changes."""
        self.ring.append(sign)
        now = self._judged()
        if now == self.behaviour:
            return None
        before, self.behaviour, self.at = self.behaviour, now, 0.0
        self.because = self._sentence(name, before)
        return before, now

    @property
    def settled(self) -> bool:
        """Whether it has a say of its own, if only that it does not agree with itself."""
        return bool(self.because) or self.at > 0 or len(self.ring) >= ENOUGH

    def agree(self, behaviour: Behaviour) -> int:
        return sum(sign.of == behaviour for sign in self.ring)

    def _judged(self) -> Behaviour:
        if self.behaviour != "unknown":
            # What has its name from an earlier process was heard to agree there.
            against = sum(sign.of != self.behaviour for sign in list(self.ring)[-LATELY:])
            return self.behaviour if LATELY - against >= CONTRARY * LATELY else "unknown"
        if len(self.ring) >= ENOUGH:
            for behaviour in _KNOWN:
                if _share(behaviour, self.ring) >= AGREEING:
                    return behaviour
        return "unknown"

    def _sentence(self, name: str, before: Behaviour) -> str:
        if self.behaviour == "unknown":
            lately = list(self.ring)[-LATELY:]
            agree = sum(sign.of == before for sign in lately)
            carried = _listed(sign.header for sign in lately if sign.of not in (before, "unknown"))
            instead = f", and {carried} instead" if carried else ""
            return (
                f"{name} no longer behaves as {_A[before]}: of its last {len(lately)} answers only {agree} showed it{instead}; "
                "until they agree again it is taken as an edge whose answers are all misses"
            )
        agree, hits = self.agree(self.behaviour), sum(sign.hit for sign in self.ring)
        carried = _listed(sign.header for sign in self.ring if sign.of == self.behaviour)
        said = f"said by {carried} what a cache did, {hits} of them a hit"
        if self.behaviour == "bucket":
            said = f"had the mark of an object store ({carried}), and no word of a cache"
        return f"{name} behaves as {_A[self.behaviour]}: {agree} of its last {len(self.ring)} answers {said}"


_KNOWN: Final[tuple[Behaviour, ...]] = ("edge", "bucket")
_A: Final = {"edge": "an edge", "bucket": "a bucket", "unknown": "neither"}


def _share(behaviour: Behaviour, signs: Iterable[Sign]) -> float:
    agreeing = [sign.of == behaviour for sign in signs]
    return sum(agreeing) / len(agreeing)


def _listed(headers: Iterable[str]) -> str:
    return ", ".join(name for name, _ in Counter(filter(None, headers)).most_common(3))


@dataclass(slots=True)
class _Account:
    whole: _Watched = field(default_factory=_Watched)
    folders: dict[str, _Watched] = field(default_factory=dict)
    sources: deque[str] = field(default_factory=lambda: deque(maxlen=ENOUGH))


class Watching:
    """Told of every good answer of an image service. Keys of accounts are ``imageservice:<provider>/<account>``."""

    def __init__(self) -> None:
        self._accounts: OrderedDict[str, _Account] = OrderedDict()

    def heard(self, account: str, folder: str, sign: Sign, source: str = "") -> tuple[Switch, ...]:
        """An answer of the account, for an image in the folder; ``source``: the key of whoever has the image that was resized,
        where its URL tells that it is somebody else. What is called something else from now on."""
        found = self._accounts.setdefault(account, _Account())
        self._accounts.move_to_end(account)
        if len(self._accounts) > ACCOUNTS:
            self._accounts.popitem(last=False)
        found.sources.append(source)
        parts = [("", account, found.whole)]
        if folder and folder not in found.folders and len(found.folders) < FOLDERS:
            found.folders[folder] = _Watched()
        if folder in found.folders:
            parts.append((folder, f"{account} in /{folder}/", found.folders[folder]))
        switches = ((part, watched, watched.hear(sign, name)) for part, name, watched in parts)
        return tuple(Switch(account, part, *switch, watched.because) for part, watched, switch in switches if switch)

    def behaviour(self, account: str, folder: str = "") -> Behaviour:
        """As what the account is to be treated, where an image of the folder is asked for."""
        found = self._accounts.get(account)
        if found is None:
            return "unknown"
        whole, part = found.whole.behaviour, found.folders.get(folder)
        if part is None:
            return whole
        if part.settled:
            return part.behaviour
        # It has too little to say something of its own, but may object.
        objects = len(part.ring) >= OBJECTING and _share(whole, part.ring) < CONTRARY
        return "unknown" if objects else whole

    def knows(self, account: str) -> bool:
        """Whether anything was heard of the account, or recalled."""
        return account in self._accounts

    def recall(self, account: str, noted: Mapping[str, NotedPart]) -> None:
        """What was noted of an account that is not yet known, and of its folders, which are told by name ("": all of it)."""
        if self.knows(account) or not noted:
            return
        found = self._accounts[account] = _Account()
        for folder in sorted(noted)[: FOLDERS + 1]:
            part = found.whole if not folder else found.folders.setdefault(folder, _Watched())
            part.behaviour, part.because, part.at = noted[folder].behaviour, noted[folder].because, noted[folder].at

    def parts(self, account: str) -> tuple[Part, ...]:
        """The account and its folders, as far as each has its own say."""
        found = self._accounts.get(account)
        if found is None:
            return ()
        parts = {"": found.whole, **found.folders}
        return tuple(Part(folder, part.behaviour, part.because, part.at) for folder, part in parts.items() if part.settled)

    def all_bucket(self, account: str) -> bool:
        """Whether no image of the account costs anybody else anything."""
        found = self._accounts.get(account)
        return found is not None and all(self.behaviour(account, folder) == "bucket" for folder in ("", *found.folders))

    def some_bucket(self, account: str) -> bool:
        """Whether some images of the account cost nobody else anything."""
        found = self._accounts.get(account)
        return found is not None and any(part.behaviour == "bucket" for part in (found.whole, *found.folders.values()))

    def source(self, account: str, first: str = "") -> str:
        """The key of whoever has nearly all images that the account resizes; "" where that is several, or nobody else.
        ``first``: what the URL at hand tells, as long as there was no answer."""
        found = self._accounts.get(account)
        if found is None or not found.sources:
            return first
        most, times = Counter(found.sources).most_common(1)[0]
        return most if times >= AGREEING * len(found.sources) else ""

    def sentences(self, account: str) -> tuple[str, ...]:
        """What was made of the account and of its folders, one sentence each."""
        found = self._accounts.get(account)
        parts = [found.whole, *found.folders.values()] if found is not None else []
        told = tuple(part.because for part in parts if part.because)
        return told or (f"{account} is watched, and taken as an edge whose answers are all misses until they tell more",)
