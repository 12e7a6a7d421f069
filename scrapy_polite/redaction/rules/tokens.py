"""Tokens, keys and passwords of no single provider, told by their form or by the name of a parameter."""

from __future__ import annotations

from scrapy_polite.redaction import checksums, validators
from scrapy_polite.redaction.rules.rule import BASE64, Rule

__all__ = ["RULES"]

RULES: tuple[Rule, ...] = (
    Rule(
        # RFC 7515 section 3.1: three parts, the last empty for "none"; RFC 7516 section 3.1: five, the second may be
        # empty. "ewog" and "ewoi" begin a header that is written over several lines.
        "jwt", "any", "transient", ("eyJ", "ewog", "ewoi"),
        r"(?:eyJ|ewo)[\w-]{12,16384}={0,2}\.[\w-]{0,16384}={0,2}\.[\w-]{0,16384}(?:\.[\w-]{1,16384}\.[\w-]{8,128})?",
        "https://www.rfc-editor.org/rfc/rfc7519#section-3", checksums.jwt,
        # No hyphen before it, so that a run of its characters has one beginning and is read once.
        left=r"(?:(?<![\w-])|(?<=<!--))", right=r"(?![\w-])",
    ),
    Rule(
        # A cookie (`laravel_session`, `XSRF-TOKEN`): Base64 of `{"iv":"`, and the rest of what was encrypted.
        "laravel-session", "Laravel", "transient", ("eyJpdiI6I",), r"eyJpdiI6I[A-Za-z0-9+/]{100,8192}={0,2}",
        "https://laravel.com/docs/encryption", validators.varied, right=BASE64,
    ),
    Rule(
        # RFC 7468; before it, headers as of RFC 1421 ("Proc-Type: 4,ENCRYPTED"). The lines around it stay.
        "private-key", "any", "secret", ("PRIVATE KEY-----", "PRIVATE KEY BLOCK-----"),
        r"PRIVATE KEY(?: BLOCK)?-----\s{1,8}(?:[A-Z][A-Za-z-]{1,20}: [^\r\n<>]{1,100}\s{1,4}){0,4}"
        r"(?P<value>[A-Za-z0-9+/][A-Za-z0-9+/=\s]{60,16000}[A-Za-z0-9+/=])",
        "https://www.rfc-editor.org/rfc/rfc7468#section-10", checksums.pem_body, left="", right="", blanks=True,
    ),
    Rule(
        "age-secret-key", "age", "secret", ("AGE-SECRET-KEY-1",), r"AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}",
        "https://github.com/C2SP/C2SP/blob/main/age.md",
    ),
    Rule(
        # RFC 3986 section 3.2.1: the password of a URL's user. The user, and the URL, stay.
        # `photo@2x.png` is no host.
        "url-password", "any", "secret", ("@",), r"@(?:[0-9][0-9A-WYZa-wyz.:-]|[A-Za-z\[])",
        "https://www.rfc-editor.org/rfc/rfc3986#section-3.2.1",
        validators.password, left=r"""(?<![\s/"'<>`\\{}&;~,(])""", right="",
        back=r"""//[^\s/@:"'<>`\\{}&;~]{1,64}:(?P<value>[^\s/"'<>`\\{}&;~]{3,128})\Z""", before=200,
    ),
    Rule(
        "basic-credentials", "any", "secret", ("Basic ", "basic "), r"[Bb]asic (?P<value>[A-Za-z0-9+/]{8,512}={0,2})",
        "https://www.rfc-editor.org/rfc/rfc7617#section-2", checksums.basic_credentials, right=BASE64,
    ),
    Rule(
        "bearer-token", "any", "secret", ("Bearer ", "bearer "), r"[Bb]earer (?P<value>[\w.+/-]{16,2048}={0,2})",
        "https://www.rfc-editor.org/rfc/rfc6750#section-2.1", validators.random, right=r"(?![\w+/=-])",
    ),
)  # fmt: skip
