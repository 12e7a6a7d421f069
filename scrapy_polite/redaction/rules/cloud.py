"""Keys of clouds."""

from __future__ import annotations

from scrapy_polite.redaction.rules.rule import IS, URL_SAFE, Rule

__all__ = ["RULES"]

_AWS_IDS = "https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html#identifiers-unique-ids"
_AWS_QUERY = "https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html"
_GOOGLE_OAUTH = "https://developers.google.com/identity/protocols/oauth2"

RULES: tuple[Rule, ...] = (
    Rule("google-oauth-secret", "Google", "secret", ("GOCSPX-",), r"GOCSPX-[\w-]{28}", _GOOGLE_OAUTH, right=URL_SAFE),
    Rule(
        "google-access-token", "Google", "secret", ("ya29.",), r"ya29\.(?:[a-z]\.)?[\w-]{20,2048}",
        _GOOGLE_OAUTH + "#size", right=URL_SAFE,
    ),
    Rule(
        "aws-access-key-id", "AWS", "secret", ("AKIA", "ASIA", "ABIA", "ACCA", "A3T"),
        r"(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z2-7]{16}", _AWS_IDS,
    ),
    Rule(
        "aws-signature", "AWS", "transient", ("X-Amz-Signature", "x-amz-signature"),
        rf"(?i:x-amz-signature){IS}(?P<value>[0-9a-f]{{64}})", _AWS_QUERY, left="",
    ),
    Rule(
        "aws-session-token", "AWS", "transient", ("X-Amz-Security-Token", "x-amz-security-token"),
        rf"(?i:x-amz-security-token){IS}(?P<value>[\w+/=-]{{40,4096}})", _AWS_QUERY, left="", right=r"(?![\w+/=-])",
    ),
)  # fmt: skip
