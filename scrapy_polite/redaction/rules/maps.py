"""Keys of maps and places."""

from __future__ import annotations

from scrapy_polite.redaction import validators
from scrapy_polite.redaction.rules.rule import URL_SAFE, Rule

__all__ = ["RULES"]

_MAPBOX = "https://docs.mapbox.com/help/dive-deeper/access-tokens/"

RULES: tuple[Rule, ...] = (
    Rule(
        "google-api-key", "Google", "publishable", ("AIza",), r"AIza[\w-]{35}",
        "https://cloud.google.com/docs/authentication/api-keys", validators.varied, right=URL_SAFE,
    ),
    Rule(
        "mapbox-public", "Mapbox", "publishable", ("pk.eyJ",), r"pk\.eyJ[\w-]{16,1024}\.[\w-]{16,128}",
        _MAPBOX, validators.mapbox_token, right=URL_SAFE,
    ),
    Rule(
        "mapbox-secret", "Mapbox", "secret", ("sk.eyJ",), r"sk\.eyJ[\w-]{16,1024}\.[\w-]{16,128}",
        _MAPBOX, validators.mapbox_token, right=URL_SAFE,
    ),
    Rule(
        "mapbox-temporary", "Mapbox", "transient", ("tk.eyJ",), r"tk\.eyJ[\w-]{16,1024}\.[\w-]{16,128}",
        _MAPBOX, validators.mapbox_token, right=URL_SAFE,
    ),
)  # fmt: skip
