"""Keys of maps and places."""

from __future__ import annotations

from scrapy_polite.redaction import checksums, validators
from scrapy_polite.redaction.rules.rule import TRUFFLEHOG, URL_SAFE, Rule

__all__ = ["RULES"]

_MAPBOX = "https://docs.mapbox.com/help/dive-deeper/access-tokens/"
_RADAR = "https://docs.radar.com/api#authentication"

RULES: tuple[Rule, ...] = (
    Rule(
        "google-api-key", "Google", "publishable", ("AIza",), r"AIza[\w-]{35}",
        "https://cloud.google.com/docs/authentication/api-keys", validators.varied, right=URL_SAFE,
    ),
    Rule(
        "mapbox-public", "Mapbox", "publishable", ("pk.eyJ",), r"pk\.eyJ[\w-]{16,1024}\.[\w-]{16,128}",
        _MAPBOX, checksums.mapbox_token, right=URL_SAFE,
    ),
    Rule(
        "mapbox-secret", "Mapbox", "secret", ("sk.eyJ",), r"sk\.eyJ[\w-]{16,1024}\.[\w-]{16,128}",
        _MAPBOX, checksums.mapbox_token, right=URL_SAFE,
    ),
    Rule(
        "mapbox-temporary", "Mapbox", "transient", ("tk.eyJ",), r"tk\.eyJ[\w-]{16,1024}\.[\w-]{16,128}",
        _MAPBOX, checksums.mapbox_token, right=URL_SAFE,
    ),
    Rule(
        "locationiq-key", "LocationIQ", "publishable", ("pk.",), r"pk\.[0-9a-f]{32}",
        "https://docs.locationiq.com/docs/introduction", validators.random_likely,
    ),
    Rule(
        "arcgis-api-key", "Esri", "publishable", ("AAPK", "AAPT"), r"AAP[KT][\w-]{60,1200}",
        "https://developers.arcgis.com/documentation/security-and-authentication/api-key-authentication/",
        validators.varied, right=URL_SAFE,
    ),
    Rule(
        "mapillary-token", "Mapillary", "publishable", ("MLY|",), r"MLY\|[0-9]{15,20}\|[0-9a-f]{32}",
        "https://www.mapillary.com/developer/api-documentation#authentication",
    ),
    Rule(
        "radar-publishable", "Radar", "publishable", ("prj_live_pk_", "prj_test_pk_"), r"prj_(?:live|test)_pk_[0-9a-f]{40}",
        _RADAR,
    ),
    Rule("radar-secret", "Radar", "secret", ("prj_live_sk_", "prj_test_sk_"), r"prj_(?:live|test)_sk_[0-9a-f]{40}", _RADAR),
    Rule(
        "foursquare-key", "Foursquare", "secret", ("fsq3",), r"fsq3[A-Za-z0-9+/]{44}={0,1}",
        TRUFFLEHOG + "/foursquare", validators.varied, right="(?![A-Za-z0-9+=])",
    ),
    Rule(
        "ideal-postcodes-key", "Ideal Postcodes", "publishable", ("ak_",), r"ak_[a-z0-9]{20,30}",
        "https://docs.ideal-postcodes.co.uk/docs/guides/api-key", validators.random_likely,
    ),
)  # fmt: skip
