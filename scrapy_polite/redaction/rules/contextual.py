"""Keys that have no form of their own: told by a word that stands shortly before them.

Their shapes: what the vendors' examples and those who search for leaked keys show.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_polite.redaction import validators
from scrapy_polite.redaction.rules.rule import GITLEAKS, NO_HYPHEN, TRUFFLEHOG, URL_SAFE, UUID, Exposure, Rule

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["RULES"]

_HEX = "[0-9a-f]{%d}"
_ALNUM = "[A-Za-z0-9]{%d}"
_SAFE = r"[\w-]{%d}"
# What is given to a name: no property (`config.key2`), no call; or Base64, which no name of a program looks like.
_VALUE = r"(?:[\w-]{%s}(?![\w+/=(\[-]|\.\w)|(?=[\w-]{0,100}[+/=!$*])[\w+/!$*-]{%s})"


def _near(
    kind: str,
    provider: str,
    exposure: Exposure,
    words: str,
    shape: str,
    source: str,
    validator: Callable[[str], validators.Verdict] = validators.random,
) -> Rule:
    return Rule(
        kind, provider, exposure, (), shape, source, validator, words=words, left=NO_HYPHEN, right=URL_SAFE,
        confidence="doubtful",
    )  # fmt: skip


def _number(kind: str, provider: str, words: str, shape: str, source: str) -> Rule:
    """An id of an account: digits, right behind the name of a parameter or call."""
    return Rule(
        kind, provider, "identifier", (), shape, source, words=words, window=20, left=r"(?:(?<![\w.-])|(?<=<!--))",
        right=r"(?![\w]|-(?!->)|\.\d)",
        confidence="doubtful",
    )  # fmt: skip


# Between a name and what it is given: a sign and a quote; a comma between arguments; tags; a word.
_GIVEN = (
    r"""[\w-]{0,16}["'`]?(?:\s{1,2}(?:value|content))?"""
    r"""(?:\s{0,3}[=:/]\s{0,3}\[?["'`]?|\s{0,2},\s{0,2}["'`]|:?(?:>|(?:</?\w{1,10}>){1,3})(?:<!\[CDATA\[)?"""
    r"""|\s(?:is|to|as)\s["'`]?|\s\|\sdefault\(["']%s)"""
)


def _assigned(kind: str, exposure: Exposure, words: str, length: str, bare: str = "|\\s") -> Rule:
    """A value that a name is given, right behind it; `bare`: with nothing but a blank between, too."""
    return Rule(
        kind, "any", exposure, (), _VALUE % (length, length), "https://cwe.mitre.org/data/definitions/798.html",
        validators.assigned, words=words, gap=_GIVEN % bare, left="", right=r"(?![\w+/]|-(?!->))", confidence="doubtful",
    )  # fmt: skip


RULES: tuple[Rule, ...] = (
    _near("algolia-key", "Algolia", "publishable", "algolia|docsearch", _HEX % 32,
        "https://www.algolia.com/doc/guides/security/api-keys/"),
    _near("here-key", "HERE", "publishable", "here_api|here_maps|here_key|here.com", _SAFE % 43,
        "https://www.here.com/docs/bundle/identity-and-access-management-developer-guide/page/topics/plat-using-apikeys.html"),
    _near("tomtom-key", "TomTom", "publishable", "tomtom", _ALNUM % 32,
        "https://developer.tomtom.com/knowledgebase/platform/articles/how-to-get-an-tomtom-api-key/"),
    _near("bing-maps-key", "Microsoft", "publishable", "bing|virtualearth", r"A[\w-]{63}",
        "https://learn.microsoft.com/en-us/bingmaps/getting-started/bing-maps-dev-center-help/getting-a-bing-maps-key"),
    _near("azure-maps-key", "Azure", "publishable", "azure_maps|subscription_key|atlas.microsoft",
        rf"(?:{_SAFE % 43}|{_ALNUM % 84})",
        "https://learn.microsoft.com/en-us/azure/azure-maps/azure-maps-authentication"),
    _near("yandex-maps-key", "Yandex", "publishable", "yandex|ymaps", UUID, "https://yandex.com/maps-api/docs/js-api/"),
    _near("what3words-key", "what3words", "publishable", "what3words|w3w", "[A-Z0-9]{8}",
        "https://developer.what3words.com/public-api/docs"),
    _near("getaddress-key", "getAddress", "publishable", "getaddress|get_address", r"[\w-]{22,32}",
        "https://documentation.getaddress.io/"),
    _near("maptiler-key", "MapTiler", "publishable", "maptiler", _ALNUM % 20,
        "https://docs.maptiler.com/cloud/api/authentication-key/"),
    _near("geoapify-key", "Geoapify", "publishable", "geoapify", "[a-z0-9]{32}",
        "https://www.geoapify.com/get-started-with-maps-api/"),
    _near("openweather-key", "OpenWeather", "publishable", "openweather|appid", _HEX % 32, "https://openweathermap.org/appid"),
    _near("rapidapi-key", "RapidAPI", "secret", "rapidapi", _SAFE % 50, "https://docs.rapidapi.com/docs/keys"),
    _near("pusher-key", "Pusher", "publishable", "pusher", _HEX % 20,
        "https://pusher.com/docs/channels/using_channels/connection/"),
    _near("segment-write-key", "Segment", "publishable", "analytics.load|segment|write_key", _ALNUM % 32,
        "https://segment.com/docs/connections/find-writekey/"),
    _near("intercom-app-id", "Intercom", "publishable", "intercom|app_id", "[a-z0-9]{8}",
        "https://www.intercom.com/help/en/articles/3539-where-can-i-find-my-workspace-id-app-id"),
    _near("mixpanel-token", "Mixpanel", "publishable", "mixpanel", _HEX % 32,
        "https://docs.mixpanel.com/docs/orgs-and-projects/managing-projects"),
    _near("amplitude-key", "Amplitude", "publishable", "amplitude", _HEX % 32,
        "https://amplitude.com/docs/apis/authentication"),
    _near("contentful-delivery-token", "Contentful", "publishable", "contentful", _SAFE % 43,
        "https://www.contentful.com/developers/docs/references/authentication/"),
    _near("storyblok-token", "Storyblok", "publishable", "storyblok", "[A-Za-z0-9]{22}tt",
        "https://www.storyblok.com/docs/concepts/access-tokens"),
    _near("datocms-token", "DatoCMS", "publishable", "datocms|dato_cms", "[0-9a-f]{30}",
        "https://www.datocms.com/docs/content-delivery-api/authentication"),
    _near("shopify-storefront-token", "Shopify", "publishable", "storefront|x-shopify", _HEX % 32,
        "https://shopify.dev/docs/api/usage/authentication"),
    _near("datadog-key", "Datadog", "secret", "datadog|dd_api", rf"(?:{_HEX % 32}|{_HEX % 40})",
        "https://docs.datadoghq.com/account_management/api-app-keys/"),
    _near("rollbar-token", "Rollbar", "publishable", "rollbar", _HEX % 32, "https://docs.rollbar.com/docs/access-tokens"),
    _near("bugsnag-key", "Bugsnag", "publishable", "bugsnag", _HEX % 32, "https://docs.bugsnag.com/api/"),
    _near("twitter-key", "X", "secret", "twitter", _ALNUM % 25, "https://docs.x.com/fundamentals/authentication/overview"),
    _near("twitter-bearer", "X", "secret", "twitter|bearer", r"A{15,25}[A-Za-z0-9+/=-]{60,120}",
        "https://docs.x.com/fundamentals/authentication/oauth-2-0/application-only", validators.varied),
    _near("linkedin-client-id", "LinkedIn", "publishable", "linkedin|linked_in", r"[A-Za-z0-9]{14,16}",
        TRUFFLEHOG + "/linkedin"),
    _near("facebook-app-token", "Meta", "secret", "facebook|fb_app|access_token", r"[0-9]{15,16}\|[\w-]{27}",
        "https://developers.facebook.com/docs/facebook-login/guides/access-tokens/#apptokens"),
    _near("airtable-key", "Airtable", "secret", "airtable", "key[A-Za-z0-9]{14}", GITLEAKS),
    _near("crates-token", "crates.io", "secret", "crates.io|cargo|crates_token", "cio[A-Za-z0-9]{32}",
        "https://doc.rust-lang.org/cargo/reference/publishing.html"),
    _near("sanity-token", "Sanity", "secret", "sanity", "sk[A-Za-z0-9]{78,178}",
        "https://www.sanity.io/docs/content-lake/http-auth"),
    _near("discord-bot-token", "Discord", "secret", "discord|bot_token", r"[MNO][A-Za-z0-9]{23,25}\.[\w-]{6}\.[\w-]{27,38}",
        "https://discord.com/developers/docs/reference#authentication"),
    _near("aws-secret-key", "AWS", "secret", "secret_access_key|aws_secret|secret_key", "[A-Za-z0-9+/]{40}",
        "https://docs.aws.amazon.com/IAM/latest/UserGuide/id_credentials_access-keys.html"),
    _near("azure-storage-key", "Azure", "secret", "account_key|storage_key|azure", "[A-Za-z0-9+/]{86}==",
        "https://learn.microsoft.com/en-us/azure/storage/common/storage-configure-connection-string"),
    _near("gcp-private-key-id", "Google Cloud", "secret", "private_key_id", "[0-9a-f]{40}",
        "https://cloud.google.com/iam/docs/keys-create-delete"),
    _near("asp-viewstate", "ASP.NET", "transient", "viewstate|eventvalidation", "[A-Za-z0-9+/]{20,65536}={0,2}",
        "https://learn.microsoft.com/en-us/previous-versions/aspnet/bb386448(v=vs.100)", validators.varied),
    _near("heroku-key", "Heroku", "secret", "heroku", UUID, "https://devcenter.heroku.com/articles/authentication"),
    _near("fastly-token", "Fastly", "secret", "fastly", _SAFE % 32, "https://docs.fastly.com/en/guides/using-api-tokens"),
    _near("cohere-key", "Cohere", "secret", "cohere", _ALNUM % 40, "https://docs.cohere.com/reference/about"),
    _near("mistral-key", "Mistral AI", "secret", "mistral", _ALNUM % 32, "https://docs.mistral.ai/getting-started/quickstart"),
    _near("postmark-token", "Postmark", "secret", "postmark", UUID,
        "https://postmarkapp.com/developer/api/overview#authentication"),
    _near("hcaptcha-site-key", "hCaptcha", "publishable", "hcaptcha|h-captcha", UUID, "https://docs.hcaptcha.com/"),
    _near("onesignal-app-id", "OneSignal", "publishable", "onesignal", UUID,
        "https://documentation.onesignal.com/docs/en/keys-and-ids"),
    _near("emailjs-key", "EmailJS", "publishable", "emailjs", _SAFE % 17, "https://www.emailjs.com/docs/sdk/init/"),
    _near("firebase-vapid-key", "Google", "publishable", "vapid", r"B[\w-]{86}",
        "https://www.rfc-editor.org/rfc/rfc8292#section-3.2"),
    _near("unsplash-key", "Unsplash", "publishable", "unsplash", _SAFE % 43,
        "https://unsplash.com/documentation#authorization"),
    _number("facebook-pixel-id", "Meta", "fbq|facebook|fb_app|pixel_id", "[0-9]{15,16}",
        "https://developers.facebook.com/docs/meta-pixel/get-started"),
    _number("heap-app-id", "Heap", "heap.load", "[0-9]{8,10}", "https://developers.heap.io/docs/web"),
    _number("hotjar-id", "Hotjar", "hjid", "[0-9]{6,7}", "https://help.hotjar.com/hc/en-us/articles/115011639927"),
    _near("csrf-token", "any", "transient", "csrf|xsrf|authenticity_token|requestverificationtoken",
        r"(?:[A-Za-z0-9+/]{42,130}={1,2}|[\w-]{20,180})",
        "https://cheatsheetseries.owasp.org/cheatsheets/Cross-Site_Request_Forgery_Prevention_Cheat_Sheet.html",
        validators.made_up),
    _near("session-id", "any", "transient", "session_id|sess_id|ci_session|phpsessid|jsessionid|asp.net_sessionid",
        r"[\w-]{20,64}", "https://owasp.org/www-community/attacks/Session_hijacking_attack", validators.made_up),
    # The id, and its HMAC-SHA-256 in Base64, both in cookies; in most pages `s%3A...`.
    _near("express-session", "Express", "transient", "connect_sid|express_session|session_id",
        r"s:[\w-]{20,64}\.[A-Za-z0-9+/]{42,44}", "https://github.com/expressjs/session#readme", validators.made_up),
    # User, time, token and HMAC, behind a name that ends with a hash.
    _near("wordpress-session", "WordPress", "transient", "wordpress_logged_in|wordpress_sec",
        r"[\w.@+*-]{1,60}\|[0-9]{10}\|[A-Za-z0-9]{20,64}\|[0-9a-f]{32,64}",
        "https://developer.wordpress.org/reference/functions/wp_parse_auth_cookie/", validators.varied),
    _assigned("api-key", "secret", "api_key|app_key|x-api-key", "12,150"),
    _assigned("client-secret", "secret", "client_secret|app_secret|secret_key|api_secret|secret", "12,150"),
    _assigned("access-token", "secret", "access_token|auth_token|refresh_token|id_token", "16,1000"),
    _assigned("password", "secret", "password|passwd", "8,64", bare=""),
)  # fmt: skip
