"""What a server's certificate tells of its servers, in the form that evidence has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from cryptography.x509 import DNSName, ExtensionNotFound, SubjectAlternativeName

from scrapy_polite.origins.evidence import Certificate

if TYPE_CHECKING:
    from cryptography import x509

__all__ = ["certificate_of"]

SHA256: Final = "sha256"


def certificate_of(given: Any) -> Certificate | None:
    """Serial (hexadecimal), SHA-256 fingerprint and subject names (RFC 5280 section 4.2.1.6) of ``response.certificate``.

    None where there is none, as over plain HTTP, and for one that cannot be read."""
    original = getattr(given, "original", None)
    if original is None:
        return None
    try:
        found: x509.Certificate = original.to_cryptography()
        names = found.extensions.get_extension_for_class(SubjectAlternativeName).value.get_values_for_type(DNSName)
    except ExtensionNotFound:
        names = []
    except ValueError:
        return None
    return Certificate(f"{found.serial_number:x}", original.digest(SHA256).decode().replace(":", "").lower(), tuple(names))
