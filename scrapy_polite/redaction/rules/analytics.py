"""Keys and ids of analytics, monitoring and tests of visitors."""

from __future__ import annotations

from scrapy_polite.redaction import checksums, validators
from scrapy_polite.redaction.rules.rule import NO_HYPHEN, URL_SAFE, Rule

__all__ = ["RULES"]

_NEWRELIC = "https://docs.newrelic.com/docs/apis/intro-apis/new-relic-api-keys/"
_POSTHOG = "https://posthog.com/docs/api"
_STATSIG = "https://docs.statsig.com/sdk-keys/api-keys"
_SENTRY = "https://docs.sentry.io/account/auth-tokens/"
_GRAFANA = "https://grafana.com/docs/grafana/latest/administration/service-accounts/"

RULES: tuple[Rule, ...] = (
    # Of a DSN only the key goes, so that the URL stays one. https://KEY@HOST/PROJECT; older ones have a second key.
    Rule("sentry-dsn", "Sentry", "publishable", ("@",), r"@[A-Za-z][A-Za-z0-9.-]{3,120}(?::[0-9]{1,5})?/[0-9]{1,20}",
        "https://docs.sentry.io/concepts/key-terms/dsn-explainer/", left="(?<=[0-9a-f])",
        back=r"//(?P<value>[0-9a-f]{32}(?::[0-9a-f]{32})?)\Z", before=70),
    Rule("sentry-token", "Sentry", "secret", ("sntrys_eyJ",), r"sntrys_eyJ[\w=+/-]{60,600}", _SENTRY, right=r"(?![\w=+/-])"),
    Rule("sentry-user-token", "Sentry", "secret", ("sntryu_",), r"sntryu_[a-f0-9]{64}", _SENTRY),
    Rule("newrelic-browser-key", "New Relic", "publishable", ("NRJS-",), r"NRJS-[a-f0-9]{19}", _NEWRELIC),
    Rule("newrelic-user-key", "New Relic", "secret", ("NRAK-",), r"NRAK-[A-Z0-9]{27}", _NEWRELIC),
    Rule("newrelic-insert-key", "New Relic", "secret", ("NRII-",), r"NRII-[\w-]{32}", _NEWRELIC, right=URL_SAFE),
    Rule("newrelic-license-key", "New Relic", "secret", ("NRAL",), "NRAL", _NEWRELIC, left="",
        back=r"(?<![A-Za-z0-9_])[0-9a-f]{36}\Z", before=37),
    Rule("datadog-client-token", "Datadog", "publishable", ("pub",), r"pub[a-f0-9]{32}",
        "https://docs.datadoghq.com/account_management/api-app-keys/#client-tokens"),
    Rule("posthog-project-key", "PostHog", "publishable", ("phc_",), r"phc_[A-Za-z0-9]{43,48}", _POSTHOG),
    Rule("posthog-personal-key", "PostHog", "secret", ("phx_",), r"phx_[A-Za-z0-9]{43,48}", _POSTHOG),
    Rule("dynatrace-token", "Dynatrace", "secret", ("dt0c01.", "dt0s16.", "dt0s01."),
        r"dt0(?:c01|s16|s01)\.[A-Z0-9]{24}\.[A-Z0-9]{64}",
        "https://docs.dynatrace.com/docs/manage/identity-access-management/access-tokens-and-oauth-clients/access-tokens"),
    Rule("grafana-cloud-token", "Grafana", "secret", ("glc_eyJ",), r"glc_eyJ[A-Za-z0-9+/]{60,400}={0,2}",
        "https://grafana.com/docs/grafana-cloud/account-management/authentication-and-permissions/access-policies/",
        right="(?![A-Za-z0-9+=])"),
    Rule("grafana-service-account", "Grafana", "secret", ("glsa_",), r"glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}", _GRAFANA,
        checksums.grafana_token),
    Rule("honeycomb-key", "Honeycomb", "secret", ("hcaik_", "hcbik_", "hcxik_", "hcalk_", "hcamk_"),
        r"hc(?:aik|bik|xik|alk|amk)_[a-z0-9]{58}",
        "https://docs.honeycomb.io/configure/environments/manage-api-keys/"),
    Rule("statsig-client-key", "Statsig", "publishable", ("client-",), r"client-[A-Za-z0-9]{40,44}", _STATSIG,
        validators.random_likely),
    Rule("statsig-secret-key", "Statsig", "secret", ("secret-",), r"secret-[A-Za-z0-9]{40,44}", _STATSIG,
        validators.random_likely),
    Rule("google-tag-manager-id", "Google", "identifier", ("GTM-",), r"GTM-[A-Z0-9]{6,8}",
        "https://support.google.com/tagmanager/answer/14847097", left=NO_HYPHEN, right=URL_SAFE),
    Rule("google-analytics-id", "Google", "identifier", ("G-",), r"G-[A-Z0-9]{10}",
        "https://support.google.com/analytics/answer/12270356", validators.measurement_id, left=NO_HYPHEN, right=URL_SAFE),
    Rule("universal-analytics-id", "Google", "identifier", ("UA-",), r"UA-[0-9]{4,10}-[0-9]{1,4}",
        "https://support.google.com/analytics/answer/7372977", left=NO_HYPHEN, right=URL_SAFE),
    Rule("google-ads-id", "Google", "identifier", ("AW-",), r"AW-[0-9]{9,11}",
        "https://support.google.com/google-ads/answer/7548399", left=NO_HYPHEN, right=URL_SAFE),
    Rule("adsense-publisher-id", "Google", "identifier", ("pub-",), r"(?:ca-)?pub-[0-9]{16}",
        "https://support.google.com/adsense/answer/105516", left="(?<![A-Za-z0-9_])"),
    # Only these have the five A's, at the ninth character.
    Rule("recaptcha-site-key", "Google", "publishable", ("6L",), r"6L[\w-]{6}AAAAA[\w-]{27}",
        "https://developers.google.com/recaptcha/docs/display", right=URL_SAFE),
    Rule("turnstile-site-key", "Cloudflare", "publishable", ("0x4AAAAAA",), r"0x4AAAAAA[\w-]{13,30}",
        "https://developers.cloudflare.com/turnstile/get-started/", right=URL_SAFE),
    Rule("hcaptcha-secret", "hCaptcha", "secret", ("ES_",), r"ES_[0-9a-f]{32}", "https://docs.hcaptcha.com/"),
)  # fmt: skip
