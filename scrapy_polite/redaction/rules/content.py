"""Keys of shops, contents, searches and social networks."""

from __future__ import annotations

from scrapy_polite.redaction import checksums, validators
from scrapy_polite.redaction.rules.rule import GITLEAKS, IN_BASE64, URL_SAFE, URL_SAFE_PADDED, Rule

__all__ = ["RULES"]

_SHOPIFY = "https://shopify.dev/docs/apps/build/authentication-authorization"
_LOB = "https://docs.lob.com/#tag/Authentication"
_FACEBOOK = "https://developers.facebook.com/docs/facebook-login/guides/access-tokens/"

RULES: tuple[Rule, ...] = (
    Rule("shopify-token", "Shopify", "secret", ("shpat_", "shpca_", "shppa_", "shpss_", "shpua_"),
        r"shp(?:at|ca|pa|ss|ua)_[0-9A-Fa-f]{32}", _SHOPIFY),
    Rule("contentful-token", "Contentful", "secret", ("CFPAT-",), r"CFPAT-[\w-]{43}",
        "https://www.contentful.com/developers/docs/references/authentication/", right=URL_SAFE),
    Rule("easypost-key", "EasyPost", "secret", ("EZAK", "EZTK"), r"EZ[AT]K[A-Za-z0-9]{54}",
        "https://docs.easypost.com/docs/authentication"),
    Rule("shippo-token", "Shippo", "secret", ("shippo_live_", "shippo_test_"), r"shippo_(?:live|test)_[A-Fa-f0-9]{40}",
        "https://docs.goshippo.com/docs/guides_general/authentication/"),
    Rule("duffel-token", "Duffel", "secret", ("duffel_live_", "duffel_test_"), r"duffel_(?:test|live)_[\w=-]{43}",
        "https://duffel.com/docs/api/overview/making-requests", right=URL_SAFE_PADDED),
    Rule("typeform-token", "Typeform", "secret", ("tfp_",), r"tfp_[\w=.-]{40,59}",
        "https://www.typeform.com/developers/get-started/personal-access-token/", right=URL_SAFE_PADDED),
    Rule("dropbox-token", "Dropbox", "transient", ("sl.",), r"sl\.(?:[A-Za-z]{1,2}\.)?[\w=-]{130,2000}",
        "https://developers.dropbox.com/oauth-guide", right=URL_SAFE_PADDED),
    Rule("facebook-token", "Meta", "secret", ("EAA",), r"EAA[A-Z][A-Za-z0-9]{90,400}", _FACEBOOK, validators.varied,
        left=IN_BASE64),
    Rule("instagram-token", "Meta", "secret", ("IGQV", "IGQW", "IGAA"), r"IG(?:QV|QW|AA)[\w-]{100,300}",
        "https://developers.facebook.com/docs/instagram-platform/", validators.varied, left=IN_BASE64, right=URL_SAFE),
    Rule("pinterest-token", "Pinterest", "secret", ("pina_",), r"pina_[A-Z0-9]{100,160}",
        "https://developers.pinterest.com/docs/getting-started/set-up-authentication-and-authorization/"),
    # Base64 of 64 hexadecimal digits and of what the key is restricted to: `validUntil=`, `restrictIndices=`, `filters=`.
    Rule("algolia-secured-key", "Algolia", "transient", ("bGlkVW50aWw9", "c3RyaWN0SW5kaWNlc", "bHRlcnM9"),
        r"(?:bGlkVW50aWw9|c3RyaWN0SW5kaWNlc|bHRlcnM9)[A-Za-z0-9+/]{4,2000}={0,2}",
        "https://www.algolia.com/doc/guides/security/api-keys/in-depth/api-key-restrictions", checksums.algolia_secured,
        left="", right="(?![A-Za-z0-9+=])", back=r"(?<![A-Za-z0-9+])[A-Za-z0-9]{88}\Z", before=89),
    Rule("lob-key", "Lob", "secret", ("live_", "test_"), r"(?:live|test)_[a-f0-9]{35}", _LOB),
    Rule("lob-publishable", "Lob", "publishable", ("live_pub_", "test_pub_"), r"(?:live|test)_pub_[a-f0-9]{31}", _LOB),
    Rule("maxmind-key", "MaxMind", "secret", ("_mmk",), "_mmk", "https://dev.maxmind.com/license-key-validation-api/",
        left="", back=r"(?<![A-Za-z0-9_])[A-Za-z0-9]{6}_[A-Za-z0-9]{29}\Z", before=37),
    Rule("scalingo-token", "Scalingo", "secret", ("tk-us-",), r"tk-us-[\w-]{48}", GITLEAKS, right=URL_SAFE),
    Rule("flickr-token", "Flickr", "secret", ("72157",), r"72157[0-9]{10,15}-[0-9a-f]{16}",
        "https://www.flickr.com/services/api/auth.oauth.html"),
    Rule("akamai-signature", "Akamai", "transient", ("hmac=",), r"hmac=(?P<value>[0-9a-f]{64})",
        "https://github.com/akamai/EdgeAuth-Token-Python"),
)  # fmt: skip
