"""What tests of browsers share: a crawl with a real Chromium in a trapped world, and pages that try every way out."""

from __future__ import annotations

import contextlib
import ipaddress
import json
import shutil
import socket
import threading
import time
from typing import TYPE_CHECKING, Any

from trapped_world import World

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from typing_extensions import Self

CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
HANDLER = "scrapy_playwright.handler.ScrapyPlaywrightDownloadHandler"
INSIDE = ("10.211.37.1", "169.254.169.254")
"""Addresses at which nobody is, and to which no packet may go."""


def settings(world: World, *args: str, **more: Any) -> dict[str, Any]:
    """A project with scrapy-playwright and the add-on."""
    return world.settings(
        **{
            "DOWNLOAD_HANDLERS": {"http": HANDLER, "https": HANDLER},
            "PLAYWRIGHT_LAUNCH_OPTIONS": {"executable_path": CHROMIUM, "args": list(args)},
            "PLAYWRIGHT_DEFAULT_NAVIGATION_TIMEOUT": 30_000,
            **more,
        }
    )


def page(url: str, **meta: Any) -> dict[str, Any]:
    """A request for a page that is rendered."""
    return {"url": url, "meta": {"playwright": True, **meta}}


def whole(text: str) -> Any:
    """What the good server answers with."""
    return lambda request: request.answer(200, text)


class Udp:
    """``with Udp() as udp``: a port of UDP on loopback; ``udp.packets`` came."""

    def __enter__(self) -> Self:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        return self

    def __exit__(self, *error: object) -> None:
        self._socket.close()

    @property
    def packets(self) -> list[bytes]:
        found = []
        with contextlib.suppress(BlockingIOError):
            while True:
                found.append(self._socket.recv(65_535, socket.MSG_DONTWAIT))
        return found


class Outward:
    """``with Outward() as outward``: packets to :data:`INSIDE` on any interface. Only root may look; for others there are
    none to see, and the traps tell."""

    def __init__(self) -> None:
        self.packets: list[str] = []
        self._done = threading.Event()

    def __enter__(self) -> Self:
        try:
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800))
        except PermissionError:
            return self
        self._socket.settimeout(0.1)
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        if hasattr(self, "_thread"):
            self._done.set()
            self._thread.join()
            self._socket.close()

    def _read(self) -> None:
        inside = {ipaddress.ip_address(one).packed for one in INSIDE}
        while not self._done.is_set():
            with contextlib.suppress(TimeoutError):
                data = self._socket.recv(2048)
                if data[16:20] in inside:
                    self.packets.append(f"protocol {data[9]} to {ipaddress.ip_address(data[16:20])}")


MARKUP = """
<img src="http://{t}/img"><script src="http://{t}/script"></script><link rel=stylesheet href="http://{t}/css">
<iframe src="http://{t}/iframe"></iframe><object data="http://{t}/object"></object><embed src="http://{t}/embed">
<video src="http://{t}/video" preload=auto></video><audio src="http://{t}/audio" preload=auto></audio>
<link rel=prefetch href="http://{t}/prefetch"><link rel=preload as=image href="http://{t}/preload">
<link rel=modulepreload href="http://{t}/module"><link rel=preconnect href="http://{t}/">
<link rel=dns-prefetch href="//{t}/"><style>@import "http://{t}/import"; #n{n} {{ background: url("http://{t}/background") }}
@font-face {{ font-family: f{n}; src: url("http://{t}/font") }}</style><p id="n{n}" style="font-family: f{n}">text</p>
<form id="f{n}" action="http://{t}/form" method=post target="w{n}"></form><iframe name="w{n}"></iframe>
<iframe src="/go?to=http://{t}/redirected"></iframe>
<iframe srcdoc='<meta http-equiv=refresh content="0;url=http://{t}/refreshed">'></iframe>
"""

SCRIPT = """
for (const [n, t] of targets.entries()) {
  const quietly = (act) => { try { const p = act(); if (p && p.catch) p.catch(() => 0) } catch { } };
  quietly(() => fetch(`http://${t}/fetch`, {mode: "no-cors"}));
  quietly(() => fetch(`http://${t}/keepalive`, {mode: "no-cors", keepalive: true, method: "POST", body: "x"}));
  quietly(() => { const x = new XMLHttpRequest(); x.open("GET", `http://${t}/xhr`); x.send() });
  quietly(() => { navigator.sendBeacon(`http://${t}/beacon`, "x") });
  quietly(() => { new EventSource(`http://${t}/events`) });
  quietly(() => { new WebSocket(`ws://${t}/socket`) });
  quietly(() => { new Worker(URL.createObjectURL(new Blob([`importScripts("http://${t}/worker")`]))) });
  setTimeout(() => open(`http://${t}/popup`), 1000);  // After the rest: the page is then in the background.
  quietly(() => { document.getElementById(`f${n}`).submit() });
}
const ice = [{urls: `stun:127.0.0.1:${udp}`}, {urls: `turn:127.0.0.1:${udp}`, username: "a", credential: "b"},
             {urls: `turn:127.0.0.1:${tcp}?transport=tcp`, username: "a", credential: "b"}];
const peer = new RTCPeerConnection({iceServers: ice});
peer.createDataChannel("x");
peer.createOffer().then((offer) => peer.setLocalDescription(offer));
try { new WebTransport(`https://127.0.0.1:${udp}/`).ready.catch(() => 0) } catch { }
"""

IN_MARKUP = {
    *("img", "script", "css", "iframe", "object", "embed", "video", "audio", "prefetch", "preload", "module", "import"),
    *("background", "font", "redirected", "refreshed"),
}
IN_SCRIPT = {"fetch", "keepalive", "xhr", "beacon", "events", "worker", "popup", "form"}
VECTORS = {f"/{name}" for name in IN_MARKUP | IN_SCRIPT}
"""Paths that a target is asked for. WebSockets, connections in advance and UDP have none that is seen everywhere."""


def slow(seconds: float, until: Callable[[], bool] = lambda: False) -> Any:
    """An image that keeps its page from being loaded: for ``seconds``, or less, if before them it is ``until``."""

    def answer(request: Any) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end and not until():
            time.sleep(0.05)
        request.answer(200, "")

    return answer


def attacking(targets: list[str], udp: int, tcp: int, until: Callable[[], bool]) -> dict[str, Any]:
    """Pages of the good server: ``/attack`` tries every way to all targets, and is loaded soon after ``until``."""
    rules = {"prefetch": [{"source": "list", "urls": [f"http://{t}/speculated" for t in targets]}]}
    markup = "".join(MARKUP.format(t=t, n=n) for n, t in enumerate(targets))
    script = f"const targets = {json.dumps(targets)}, udp = {udp}, tcp = {tcp};{SCRIPT}"
    speculation = f"<script type=speculationrules>{json.dumps(rules)}</script>"
    body = f"{markup}{speculation}<script>{script}</script><img src=/slow><img src=/slower>"
    text = f"<html><head><title>attack</title></head><body>{body}</body></html>"
    return {"/attack": whole(text), "/slow": slow(20, until), "/slower": slow(2)}


@contextlib.contextmanager
def world_of(pages: dict[str, Any]) -> Iterator[World]:
    with World() as world:
        world.served.update(pages)
        yield world
