"""libvips as it is used here: loaded once, set up for images from strangers, and quiet while it works for us.

What libvips says in words is never repeated: its errors share one buffer, with nothing to say which image they are about.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import logging
import os
import threading
from typing import TYPE_CHECKING, ClassVar, Protocol, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

# Our word for a format -> the class of its loader from a buffer, the value of the header field `vips-loader`.
# All other loaders stay blocked: SVG, PDF, TIFF and ImageMagick are seldom photographs, and some can read other files.
LOADERS = {
    "jpeg": ("VipsForeignLoadJpegBuffer", "jpegload_buffer"),
    "png": ("VipsForeignLoadPngBuffer", "pngload_buffer"),
    "webp": ("VipsForeignLoadWebpBuffer", "webpload_buffer"),
    "gif": ("VipsForeignLoadNsgifBuffer", "gifload_buffer"),
    "avif": ("VipsForeignLoadHeifBuffer", "heifload_buffer"),
}
# GLogLevelFlags of GLib: every level with the flags for fatal and recursive messages; error, critical and warning alone.
_EVERY_LEVEL = 0xFF
_WARNINGS = 1 << 2 | 1 << 3 | 1 << 4
# Who speaks where an image is damaged. Heard by nobody, the last two write to stderr.
_DOMAINS = (b"VIPS", b"GLib-GObject", b"GLib")
_LONGEST_WARNING = 200  # bytes: it may hold parts of the image

logger = logging.getLogger(__name__)

_lock = threading.Lock()
_loaded: Vips | None = None
_listener: object = None  # called from C for as long as the process lives


class Image(Protocol):
    """The part of `pyvips.Image` that is used here.

    Not used: `get_fields`, which raises UnicodeDecodeError where the name of one field, such as the keyword of a text
    in a PNG (Latin-1 by its specification, section 11.3.3), is not UTF-8.
    """

    width: int
    height: int
    bands: int
    interpretation: str
    xoffset: int
    yoffset: int

    def get_typeof(self, name: str) -> int: ...
    def get(self, name: str) -> object: ...
    def hasalpha(self) -> bool: ...
    def copy_memory(self) -> Image: ...
    def copy(self) -> Image: ...
    def remove(self, name: str) -> bool: ...
    def set_type(self, kind: object, name: str, value: object) -> None: ...
    def thumbnail_image(self, width: int, *, height: int, size: str, **colours: str) -> Image: ...
    def crop(self, left: int, top: int, width: int, height: int) -> Image: ...
    def smartcrop(self, width: int, height: int, *, interesting: str) -> Image: ...
    def embed(self, x: int, y: int, width: int, height: int, *, extend: str, background: Sequence[float]) -> Image: ...
    def addalpha(self) -> Image: ...
    def colourspace(self, space: str) -> Image: ...
    def write_to_memory(self) -> bytes: ...
    def flatten(self, *, background: Sequence[float]) -> Image: ...
    def jpegsave_buffer(self, *, Q: int, optimize_coding: bool, keep: str) -> bytes: ...  # noqa: N803
    def webpsave_buffer(self, *, Q: int, keep: str) -> bytes: ...  # noqa: N803
    def heifsave_buffer(self, *, Q: int, compression: str, effort: int, keep: str) -> bytes: ...  # noqa: N803
    def pngsave_buffer(self, *, keep: str) -> bytes: ...
    def gifsave_buffer(self, *, keep: str, keep_duplicate_frames: bool) -> bytes: ...


class Images(Protocol):
    """`pyvips.Image` as the maker of images."""

    def new_from_buffer(self, data: bytes, options: str, *, access: str, **loader: object) -> Image: ...
    def arrayjoin(self, images: list[Image], *, across: int) -> Image: ...
    def thumbnail_buffer(
        self, data: bytes, width: int, *, height: int, size: str, option_string: str, **colours: str
    ) -> Image: ...


class _Types(Protocol):
    """`pyvips.GValue`: the types that fields of an image may have."""

    gint_type: object
    array_int_type: object


class _Errors(Protocol):
    """The error buffer of libvips, in its C library. pyvips 3.2 declares these without wrapping them."""

    def vips_error_freeze(self) -> None: ...
    def vips_error_thaw(self) -> None: ...
    def vips_error_clear(self) -> None: ...


class _GLib(Protocol):
    def g_log_set_handler(self, domain: bytes, levels: int, handler: object, data: object) -> int: ...
    def g_log_remove_handler(self, domain: bytes, number: int) -> None: ...


class _C(Protocol):
    NULL: object

    def callback(self, kind: str, function: Callable[[object, int, object, object], None]) -> object: ...
    def string(self, text: object, most: int) -> bytes: ...


class Vips(Protocol):
    """The part of the module `pyvips` that is used here. pyvips has stubs, but does not declare them (no py.typed)."""

    Image: Images
    GValue: _Types
    Error: ClassVar[type[Exception]]
    vips_lib: _Errors
    glib_lib: _GLib
    ffi: _C

    def cache_set_max(self, most: int) -> None: ...
    def concurrency_set(self, threads: int) -> None: ...
    def block_untrusted_set(self, state: bool) -> None: ...
    def operation_block_set(self, name: str, state: bool) -> None: ...


def load() -> Vips:
    """libvips, set up for images from strangers. Raises ImportError where pyvips or the library is missing.

    The set-up is for the whole process, a spider's own use of pyvips included: only the loaders of the five formats,
    from memory; no cache of operations (where every image is new it only costs memory); one thread an image (the pool
    has its own threads); what libvips warns of goes to our log, at DEBUG.
    """
    global _loaded  # as the library itself: one per process
    with _lock:
        if _loaded is None:
            os.environ.setdefault("VIPS_BLOCK_UNTRUSTED", "1")  # read when the library starts
            try:
                vips = cast("Vips", importlib.import_module("pyvips"))
            except OSError as error:  # pyvips is there, libvips is not
                raise ImportError(str(error)) from error
            vips.block_untrusted_set(True)
            vips.operation_block_set("VipsForeignLoad", True)
            for loader, _ in LOADERS.values():
                vips.operation_block_set(loader, False)
            vips.cache_set_max(0)
            vips.concurrency_set(1)
            _listen(vips)
            log = logging.getLogger("pyvips")
            if log.level == logging.NOTSET:
                log.setLevel(logging.ERROR)  # it tells every call at DEBUG
            _loaded = vips
        return _loaded


@contextlib.contextmanager
def quiet(vips: Vips) -> Iterator[None]:
    """While this is entered, no image can leave words behind that harm another one. For any number of threads.

    libvips has one error buffer per process, and keeps in it whatever a damaged file held; pyvips decodes all of it as
    UTF-8 whenever it makes an `Error`, which it does on the good path too. One byte that is not UTF-8 would make every
    later image fail. To clear the buffer is not enough: a thread may write into it while another one reads.

    So the buffer is frozen: nothing is written into it. libvips counts the freezes (under its own lock), so it is
    frozen until the last thread has left, and it was cleared after that thread had entered: in here it is always empty.
    It may be shared with a spider's own use of pyvips, whose errors have no details while an image is being converted.
    """
    vips.vips_lib.vips_error_freeze()
    try:
        vips.vips_lib.vips_error_clear()
        yield
    finally:
        vips.vips_lib.vips_error_clear()
        vips.vips_lib.vips_error_thaw()


def _listen(vips: Vips) -> None:
    """Hear libvips and its GLib in place of pyvips, whose listener raises where a message is not UTF-8.

    An exception in a listener is printed with its traceback to stderr, by cffi. What is less than a warning (20 lines
    for an image where nothing is wrong) is heard and dropped.
    """

    def hear(domain: object, level: int, message: object, *_: object) -> None:
        with contextlib.suppress(Exception):
            if level & _WARNINGS and logger.isEnabledFor(logging.DEBUG):
                text = vips.ffi.string(message, _LONGEST_WARNING).decode(errors="replace")
                if text:  # many are the error buffer's words, and that is kept empty
                    said_by = vips.ffi.string(domain, 20).decode()
                    logger.debug("%s, of an image that it does not name: %r", said_by, text)

    global _listener
    _listener = vips.ffi.callback("GLogFunc", hear)
    for domain in _DOMAINS:
        # GLib asks the newest listener first. Once the interpreter ends it must not be called any more.
        number = vips.glib_lib.g_log_set_handler(domain, _EVERY_LEVEL, _listener, vips.ffi.NULL)
        atexit.register(vips.glib_lib.g_log_remove_handler, domain, number)
