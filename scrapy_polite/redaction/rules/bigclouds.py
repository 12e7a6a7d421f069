"""Keys of AWS, Azure and Google Cloud, and what their signed URLs carry."""

from __future__ import annotations

from scrapy_polite.redaction import checksums, validators
from scrapy_polite.redaction.rules.rule import GITLEAKS, IS, URL_SAFE, UUID, Rule

__all__ = ["RULES"]

_AWS_IDS = "https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html#identifiers-unique-ids"
_AWS_QUERY = "https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html"
_GOOGLE_OAUTH = "https://developers.google.com/identity/protocols/oauth2"

_REGIONS = "|".join(("east-[12]", "west-[123]", "central-[12]", "south-[12]", "north-1", "southeast-[1-7]", "northeast-[123]"))
_REGION_ENDS = ("-east-", "-west-", "-central-", "-south-", "-north-", "-southeast-", "-northeast-")

# How what is put in place of a value goes on behind its first "~".
_MARKER = "[a-z][a-z0-9-]{1,60}[.~]"

RULES: tuple[Rule, ...] = (
    Rule("google-oauth-secret", "Google", "secret", ("GOCSPX-",), r"GOCSPX-[\w-]{28}", _GOOGLE_OAUTH, right=URL_SAFE),
    Rule(
        "google-oauth-client-id", "Google", "publishable", (".apps.googleusercontent.com",), r"\.apps\.googleusercontent\.com",
        _GOOGLE_OAUTH, left="", right=URL_SAFE, back=r"(?<![A-Za-z0-9_])[0-9]{6,20}-[a-z0-9]{32}\Z", before=60,
    ),
    Rule(
        "google-access-token", "Google", "secret", ("ya29.",), r"ya29\.(?:[a-z]\.)?[\w-]{20,2048}",
        _GOOGLE_OAUTH + "#size", right=URL_SAFE,
    ),
    Rule(
        "google-refresh-token", "Google", "secret", ("1//0",), r"1//0[\w-]{38,510}", _GOOGLE_OAUTH + "#size",
        validators.random_likely, right=URL_SAFE,
    ),
    Rule(
        "fcm-server-key", "Google", "secret", (":APA91b",), r":APA91b[\w-]{134}",
        "https://firebase.google.com/docs/cloud-messaging/migrate-v1", left="", right=URL_SAFE,
        back=r"(?:(?<![A-Za-z0-9_-])|(?<=<!--))AAAA[\w-]{7}\Z", before=20,
    ),
    Rule(
        "gcs-signature", "Google Cloud", "transient", ("X-Goog-Signature", "x-goog-signature"),
        rf"(?i:x-goog-signature){IS}(?P<value>[0-9a-f]{{128,512}})",
        "https://cloud.google.com/storage/docs/authentication/signatures", left="",
    ),
    Rule(
        "aws-access-key-id", "AWS", "secret", ("AKIA", "ASIA", "ABIA", "ACCA", "A3T"),
        r"(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z2-7]{16}", _AWS_IDS, checksums.aws_key_id,
    ),
    Rule(
        "aws-signature", "AWS", "transient", ("X-Amz-Signature", "x-amz-signature"),
        rf"(?i:x-amz-signature){IS}(?P<value>[0-9a-f]{{64}})", _AWS_QUERY, left="",
    ),
    Rule(
        "aws-session-token", "AWS", "transient", ("X-Amz-Security-Token", "x-amz-security-token"),
        rf"(?i:x-amz-security-token){IS}(?P<value>[\w+/=-]{{40,4096}})", _AWS_QUERY, left="", right=r"(?![\w+/=-])",
    ),
    Rule(
        "aws-signature-v2", "AWS", "transient", ("AWSAccessKeyId",),
        rf"AWSAccessKeyId{IS}(?P<value>[A-Z0-9]{{20}})",
        "https://docs.aws.amazon.com/AmazonS3/latest/API/RESTAuthentication.html",
    ),
    Rule(
        "cloudfront-key-pair-id", "AWS", "transient", ("Key-Pair-Id", "CloudFront-Key-Pair-Id"),
        rf"(?:CloudFront-)?Key-Pair-Id{IS}(?P<value>[A-Z0-9]{{13,24}})",
        "https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/private-content-creating-signed-url-canned-policy.html",
    ),
    Rule(
        "aws-cognito-pool", "AWS", "publishable", _REGION_ENDS, rf"-(?:{_REGIONS}):{UUID}",
        "https://docs.aws.amazon.com/cognito/latest/developerguide/identity-pools.html", left="",
        back=r"(?:(?<![A-Za-z0-9_-])|(?<=<!--))[a-z]{2}(?:-gov)?\Z", before=12,
    ),
    Rule("aws-appsync-key", "AWS", "publishable", ("da2-",), r"da2-[a-z0-9]{26}",
        "https://docs.aws.amazon.com/appsync/latest/devguide/security-authz.html#api-key-authorization"),
    Rule("aws-bedrock-key", "AWS", "secret", ("ABSK",), r"ABSK[A-Za-z0-9+/]{109,269}={0,2}", GITLEAKS, validators.varied,
        right="(?![A-Za-z0-9+=])"),
    Rule("amazon-mws-token", "Amazon", "secret", ("amzn.mws.",), rf"amzn\.mws\.{UUID}",
        "https://developer-docs.amazon.com/sp-api/docs/"),
    Rule("amazon-client-id", "Amazon", "publishable", ("amzn1.application-oa2-client.",),
        r"amzn1\.application-oa2-client\.[0-9a-f]{32,64}", "https://developer.amazon.com/docs/login-with-amazon/documentation-overview.html"),
    Rule(
        "azure-sas-signature", "Azure", "transient", ("sig=",), r"sig=(?P<value>[A-Za-z0-9+/]{43}=)",
        "https://learn.microsoft.com/en-us/rest/api/storageservices/create-service-sas", right="(?![A-Za-z0-9+=])",
    ),
    Rule(
        # "~" may be in it, though what is put in place of a value begins and ends with one: it does not end in that.
        "azure-client-secret", "Azure", "secret", ("Q~",),
        rf"Q~(?!~|{_MARKER})(?![\w.-]{{0,34}}~{_MARKER})[\w.~-]{{31,34}}", GITLEAKS,
        left="", right=r"(?![\w~]|\.\w|-(?!->))", back=r"(?<![\w.~])[\w.]{3}[0-9]\Z", before=5,
    ),
    Rule(
        "azure-devops-token", "Azure", "secret", ("AZDO",), r"AZDO[A-Za-z0-9]{4}",
        "https://learn.microsoft.com/en-us/azure/devops/organizations/accounts/use-personal-access-tokens-to-authenticate",
        left="", back=r"(?<![A-Za-z0-9_])[A-Za-z0-9]{76}\Z", before=77,
    ),
    Rule(
        "azure-search-key", "Azure", "publishable", ("AzSe",), r"AzSe[A-D][A-Za-z0-9]{5}",
        "https://learn.microsoft.com/en-us/azure/search/search-security-api-keys",
        left="", back=r"(?<![A-Za-z0-9_])[A-Za-z0-9]{42}\Z", before=43,
    ),
    Rule(
        "azure-function-key", "Azure", "secret", ("AzFu",), r"AzFu[\w-]{5}[AQgw]==",
        "https://learn.microsoft.com/en-us/azure/azure-functions/function-keys-how-to",
        left="", right="", back=r"(?:(?<![\w-])|(?<=<!--))[\w-]{44}\Z", before=52,
    ),
)  # fmt: skip
