"""Images in the object stores of Amazon (and what speaks its protocol) and Google.

An upload is seen whole or not at all there by itself. Their clients are made in the first thread that needs one, since
they read files and may ask the network who they are.
"""

from __future__ import annotations

import logging
from abc import abstractmethod
from threading import Lock
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import NotConfigured
from scrapy.pipelines.files import GCSFilesStore, S3FilesStore

from scrapy_polite.media.kept import KEY
from scrapy_polite.media.store import ImageStore, Stat, stat_of

if TYPE_CHECKING:
    from collections.abc import Callable

logger = logging.getLogger(__name__)

# botocore waits for a minute, and tries three to five times.
CONNECT_TIMEOUT = 10


class ClientStore(ImageStore):
    """A store with a client that its threads share, made once, when it is needed."""

    def __init__(self, uri: str) -> None:
        # As Scrapy reads it: the path is put right behind the prefix, so a prefix that is a folder ends with "/".
        self.name, _, self.prefix = uri.partition("://")[2].partition("/")
        if not self.name:
            raise ValueError(f"IMAGES_STORE: {uri!r} names no bucket: write it as {uri.partition(':')[0]}://bucket/folder/")
        self._client: Any = None
        self._lock, self._told = Lock(), False

    def client(self) -> Any:
        with self._lock:
            if self._client is None:
                self._client = self._connected()
            return self._client

    def close(self) -> None:
        with self._lock:
            if self._client is not None:
                self._client.close()
                self._client = None

    def forbidden(self, right: str) -> None:
        """Says once that nobody may ask this store whether an image is there."""
        with self._lock:
            told, self._told = self._told, True
        if not told:
            logger.warning(
                "IMAGES_STORE: the bucket %s does not tell whether an image is there (403). Every image is downloaded "
                "again: give the crawl the right %s",
                self.name,
                right,
            )

    @abstractmethod
    def _connected(self) -> Any:
        """The library's client, with this crawler's credentials. May block."""


class S3Store(ClientStore, S3FilesStore):
    """Scrapy's store for `s3://bucket/folder/`, with its settings.

    Other than there: TLS unless `AWS_USE_SSL` is False (Scrapy's default of None is taken for no by botocore), and no
    ACL is sent where it would be "private", which is what an object without one is: buckets of today refuse all ACLs.
    """

    def __init__(self, uri: str) -> None:
        try:
            import botocore.session  # noqa: F401
        except ImportError:
            raise NotConfigured("IMAGES_STORE on s3:// needs botocore: pip install 'scrapy-polite[s3]'") from None
        super().__init__(uri)

    def errors(self) -> tuple[type[Exception], ...]:
        from botocore.exceptions import BotoCoreError, ClientError

        return (OSError, BotoCoreError, ClientError)

    def _connected(self) -> Any:
        import botocore.session
        from botocore.config import Config

        # At DEBUG, Scrapy's default, it logs a hundred lines for each request, the session token among them.
        if (log := logging.getLogger("botocore")).level == logging.NOTSET:
            log.setLevel(logging.INFO)
        return botocore.session.get_session().create_client(
            "s3",
            aws_access_key_id=self.AWS_ACCESS_KEY_ID,
            aws_secret_access_key=self.AWS_SECRET_ACCESS_KEY,
            aws_session_token=self.AWS_SESSION_TOKEN,
            endpoint_url=self.AWS_ENDPOINT_URL,
            region_name=self.AWS_REGION_NAME,
            use_ssl=True if self.AWS_USE_SSL is None else self.AWS_USE_SSL,
            verify=self.AWS_VERIFY,
            config=Config(
                connect_timeout=CONNECT_TIMEOUT,
                max_pool_connections=getattr(self, "AWS_MAX_POOL_CONNECTIONS", None) or 10,
            ),
        )

    def _missing(self, ask: Callable[..., dict[str, Any]], path: str) -> dict[str, Any] | None:
        from botocore.exceptions import ClientError

        try:
            return ask(Bucket=self.name, Key=f"{self.prefix}{path}")
        except ClientError as error:
            status = error.response["ResponseMetadata"]["HTTPStatusCode"]
            if status == 403:  # what S3 says of an object that is not there to those who may not list the bucket
                self.forbidden("s3:ListBucket")
            if status in (403, 404):
                return None
            raise

    def _stat(self, path: str) -> Stat:
        answer = self._missing(self.client().head_object, path)
        if answer is None:
            return {}
        return stat_of(answer["LastModified"].timestamp(), answer["ContentLength"], answer["Metadata"].get(KEY))

    def _read(self, path: str) -> bytes | None:
        answer = self._missing(self.client().get_object, path)
        return None if answer is None else bytes(answer["Body"].read())

    def _write(self, path: str, data: bytes, meta: dict[str, str], headers: dict[str, str]) -> None:
        extra = self._headers_to_botocore_kwargs({**self.HEADERS, **headers})
        if self.POLICY not in (None, "", "private"):
            extra["ACL"] = self.POLICY
        self.client().put_object(Bucket=self.name, Key=f"{self.prefix}{path}", Body=data, Metadata=meta, **extra)


class GCSStore(ClientStore, GCSFilesStore):
    """Scrapy's store for `gs://bucket/folder/`, with its settings. Nobody asks at the start what the bucket permits."""

    def __init__(self, uri: str) -> None:
        try:
            import google.cloud.storage  # noqa: F401
        except ImportError:
            raise NotConfigured("IMAGES_STORE on gs:// needs google-cloud-storage: pip install 'scrapy-polite[gcs]'") from None
        super().__init__(uri)

    def errors(self) -> tuple[type[Exception], ...]:
        from google.api_core.exceptions import GoogleAPIError
        from google.auth.exceptions import GoogleAuthError

        return (OSError, GoogleAPIError, GoogleAuthError)

    def _connected(self) -> Any:
        from google.cloud import storage

        return storage.Client(project=self.GCS_PROJECT_ID)

    def _blob(self, path: str) -> Any:
        return self.client().bucket(self.name).blob(f"{self.prefix}{path}")

    def _stat(self, path: str) -> Stat:
        from google.api_core.exceptions import Forbidden

        try:
            blob = self.client().bucket(self.name).get_blob(f"{self.prefix}{path}")
        except Forbidden:
            self.forbidden("storage.objects.get")
            return {}
        if blob is None:
            return {}
        return stat_of(blob.updated.timestamp(), blob.size, (blob.metadata or {}).get(KEY))

    def _read(self, path: str) -> bytes | None:
        from google.api_core.exceptions import NotFound

        try:
            return bytes(self._blob(path).download_as_bytes())
        except NotFound:
            return None

    def _write(self, path: str, data: bytes, meta: dict[str, str], headers: dict[str, str]) -> None:
        from google.cloud.storage.retry import DEFAULT_RETRY

        blob = self._blob(path)
        blob.cache_control, blob.metadata = self.CACHE_CONTROL, meta
        kind = headers.get("Content-Type", "application/octet-stream")
        # The same bytes twice are the same: so it may be tried again, which the library does not know.
        blob.upload_from_string(data, content_type=kind, predefined_acl=self.POLICY, retry=DEFAULT_RETRY)
