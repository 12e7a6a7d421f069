"""Images on an FTP server."""

from __future__ import annotations

import posixpath
import secrets
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from ftplib import FTP, all_errors, error_perm
from io import BytesIO
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from scrapy.pipelines.files import FTPFilesStore

from scrapy_polite.media.kept import KEY
from scrapy_polite.media.store import ImageStore, Stat, StoreError, checked, kept_path, stat_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# A server that says nothing for so many seconds is given up; Scrapy waits for ever.
TIMEOUT = 60


class FTPStore(ImageStore, FTPFilesStore):
    """Scrapy's store for `ftp://user:password@host:port/folder`, with its settings; port, user and password may be left out.

    A file is sent under another name and then renamed into its place (RFC 959, RNFR and RNTO). What is remembered of
    `full/a.jpg` is in `kept/full/a.jpg.json`: FTP knows no metadata, and a folder's listing (MLSD) tells no pixels, and
    is as long as the folder is large. It is taken away before its image is replaced.
    """

    def __init__(self, uri: str) -> None:
        parts = urlsplit(uri)
        try:
            port = parts.port
        except ValueError:
            port = -1
        if not parts.hostname or port == -1:
            raise ValueError("IMAGES_STORE: not of the form ftp://user:password@host:port/folder (it is not shown here)")
        self.host, self.port = parts.hostname, port or 21
        self.username = unquote(parts.username or self.FTP_USERNAME or "anonymous")
        self.password = unquote(parts.password or self.FTP_PASSWORD or "")
        self.basedir = unquote(parts.path).rstrip("/")

    def errors(self) -> tuple[type[Exception], ...]:
        return all_errors

    def remember(self, path: Any, data: bytes, meta: Mapping[str, Any], headers: Mapping[str, str]) -> None:
        def put() -> None:
            with self._session() as ftp:
                self._whole(ftp, kept_path(checked(path)), str(meta[KEY]).encode())

        self._tried(put)

    def _stat(self, path: str) -> Stat:
        with self._session() as ftp:
            target = self._place(path)
            with suppress(error_perm):  # the image is not there
                size = ftp.size(target)
                modified = _moment(ftp.voidcmd(f"MDTM {target}"))
                text = self._received(ftp, kept_path(path))
                return stat_of(modified, size or 0, (text or b"").decode("ascii", "replace"))
        return {}

    def _read(self, path: str) -> bytes | None:
        with self._session() as ftp:
            return self._received(ftp, path)

    def _write(self, path: str, data: bytes, meta: dict[str, str], headers: dict[str, str]) -> None:
        with self._session() as ftp:
            if KEY in meta:
                with suppress(error_perm):  # there was none
                    ftp.delete(self._place(kept_path(path)))
            self._whole(ftp, path, data)
            if KEY in meta:
                self._whole(ftp, kept_path(path), meta[KEY].encode())

    @contextmanager
    def _session(self) -> Iterator[FTP]:
        with FTP(timeout=TIMEOUT) as ftp:  # noqa: S321 - what the operator asks for
            ftp.connect(self.host, self.port)
            ftp.login(self.username, self.password)
            ftp.set_pasv(not self.USE_ACTIVE_MODE)
            ftp.voidcmd("TYPE I")  # many servers tell a size only so
            yield ftp

    def _place(self, path: str) -> str:
        return f"{self.basedir}/{path}"

    def _received(self, ftp: FTP, path: str) -> bytes | None:
        body = BytesIO()
        try:
            ftp.retrbinary(f"RETR {self._place(path)}", body.write)
        except error_perm:
            return None
        return body.getvalue()

    def _whole(self, ftp: FTP, path: str, data: bytes) -> None:
        target = self._place(path)
        part = f"{target}.{secrets.token_hex(4)}.part"
        try:
            ftp.storbinary(f"STOR {part}", BytesIO(data))
        except error_perm:  # most often the first image in its folder
            _make_folder(ftp, posixpath.dirname(target))
            ftp.storbinary(f"STOR {part}", BytesIO(data))
        try:
            ftp.rename(part, target)
        except error_perm:
            # Some servers rename onto nothing that is there.
            with suppress(error_perm):
                ftp.delete(target)
            try:
                ftp.rename(part, target)
            except error_perm:
                ftp.delete(part)
                raise


def _make_folder(ftp: FTP, folder: str) -> None:
    """The folder with all above it; another connection may be making them as well."""
    made = ""
    for name in folder.split("/"):
        made = f"{made}{name}/"
        if name:
            with suppress(error_perm):
                ftp.mkd(made.rstrip("/"))


def _moment(answer: str) -> float:
    """Unix seconds of what MDTM answers: `213 YYYYMMDDHHMMSS`, in UTC, perhaps with a fraction (RFC 3659 section 3)."""
    stamp = answer[4:].strip().partition(".")[0]
    try:
        return datetime.strptime(stamp, "%Y%m%d%H%M%S").replace(tzinfo=timezone.utc).timestamp()
    except ValueError:
        raise StoreError(f"the FTP server's MDTM is not a time: {answer!r}") from None
