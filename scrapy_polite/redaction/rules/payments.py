"""Keys of payments."""

from __future__ import annotations

from scrapy_polite.redaction import validators
from scrapy_polite.redaction.rules.rule import GITLEAKS, TRUFFLEHOG, URL_SAFE, URL_SAFE_PADDED, UUID, Rule

__all__ = ["RULES"]

_STRIPE = "https://docs.stripe.com/keys"
_SQUARE = "https://developer.squareup.com/docs/build-basics/access-tokens"
_PADDLE = "https://developer.paddle.com/api-reference/about/api-keys"
_PLAID = "https://plaid.com/docs/api/tokens/"

RULES: tuple[Rule, ...] = (
    Rule(
        "stripe-publishable", "Stripe", "publishable", ("pk_live_", "pk_test_"), r"pk_(?:live|test)_[A-Za-z0-9_]{10,247}",
        _STRIPE,
    ),
    Rule(
        "stripe-secret", "Stripe", "secret", ("sk_live_", "sk_test_", "sk_org_live_", "sk_org_test_"),
        r"sk_(?:org_)?(?:live|test)_[A-Za-z0-9_]{10,247}", _STRIPE,
    ),
    Rule(
        "stripe-restricted", "Stripe", "secret", ("rk_live_", "rk_test_"), r"rk_(?:live|test)_[A-Za-z0-9_]{10,247}", _STRIPE,
    ),
    Rule(
        "stripe-ephemeral", "Stripe", "transient", ("ek_live_", "ek_test_"), r"ek_(?:live|test)_[A-Za-z0-9_]{10,247}",
        "https://docs.stripe.com/issuing/elements#ephemeral-key-authentication",
    ),
    Rule(
        "stripe-webhook", "Stripe", "secret", ("whsec_",), r"whsec_[A-Za-z0-9+/]{32,64}",
        "https://docs.stripe.com/webhooks#verify-official-libraries", right="(?![A-Za-z0-9+/])",
    ),
    Rule(
        "stripe-client-secret", "Stripe", "transient", ("_secret_",), r"_secret_[A-Za-z0-9]{16,64}",
        "https://docs.stripe.com/api/payment_intents/object#payment_intent_object-client_secret",
        left="", right="(?![A-Za-z0-9])",
        back=r"(?<![A-Za-z0-9_])(?:pi|seti|src|cs_live|cs_test)_[A-Za-z0-9]{14,80}\Z", before=90,
    ),
    Rule("square-token", "Square", "secret", ("EAAA",), r"EAAA[\w+=-]{60}", _SQUARE, validators.varied,
        right=r"(?![\w+=]|-(?!->))"),
    Rule("square-oauth-secret", "Square", "secret", ("sq0csp-", "sq0atp-"), r"sq0(?:csp|atp)-[\w-]{22,43}", _SQUARE,
        right=URL_SAFE),
    Rule("square-application-id", "Square", "publishable", ("sq0idp-",), r"sq0idp-[\w-]{22,43}", _SQUARE, right=URL_SAFE),
    Rule(
        "braintree-access-token", "PayPal", "secret", ("access_token$production$", "access_token$sandbox$"),
        r"access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32}", TRUFFLEHOG + "/braintreepayments",
    ),
    Rule(
        "braintree-tokenization-key", "PayPal", "publishable", ("production_", "sandbox_"),
        r"(?:production|sandbox)_[0-9a-z]{8}_[0-9a-z]{16}",
        "https://developer.paypal.com/braintree/docs/guides/authorization/tokenization-key", validators.random_likely,
    ),
    Rule(
        "razorpay-key-id", "Razorpay", "publishable", ("rzp_live_", "rzp_test_"), r"rzp_(?:live|test)_[A-Za-z0-9]{14}",
        "https://razorpay.com/docs/payments/dashboard/account-settings/api-keys/",
    ),
    Rule(
        "flutterwave-public", "Flutterwave", "publishable", ("FLWPUBK",), r"FLWPUBK(?:_TEST)?-[0-9A-Za-z]{32}-X",
        "https://developer.flutterwave.com/v3.0/docs/authentication",
    ),
    Rule(
        "flutterwave-secret", "Flutterwave", "secret", ("FLWSECK",), r"FLWSECK(?:_TEST)?-[0-9A-Za-z]{32}-X",
        "https://developer.flutterwave.com/v3.0/docs/authentication",
    ),
    Rule("gocardless-token", "GoCardless", "secret", ("live_",), r"live_[\w=-]{40}", GITLEAKS, validators.varied,
        right=URL_SAFE_PADDED),
    Rule(
        "adyen-client-key", "Adyen", "publishable", ("live_", "test_"), r"(?:live|test)_[A-Z0-9]{32}",
        "https://docs.adyen.com/development-resources/client-side-authentication/", validators.varied,
    ),
    Rule(
        "mollie-key", "Mollie", "secret", ("live_", "test_"), r"(?:live|test)_[A-Za-z0-9]{30}",
        "https://docs.mollie.com/reference/authentication", validators.random_likely,
    ),
    Rule("plaid-access-token", "Plaid", "secret", ("access-",), rf"access-(?:sandbox|development|production)-{UUID}", _PLAID),
    Rule("plaid-link-token", "Plaid", "transient", ("link-",), rf"link-(?:sandbox|development|production)-{UUID}", _PLAID),
    Rule(
        "paddle-api-key", "Paddle", "secret", ("pdl_live_", "pdl_sdbx_"),
        r"pdl_(?:live|sdbx)_apikey_[a-z0-9]{26}_[A-Za-z0-9]{22}_[A-Za-z0-9]{3}", _PADDLE,
    ),
    Rule(
        "paddle-client-token", "Paddle", "publishable", ("live_", "test_"), r"(?:live|test)_[a-z0-9]{27}",
        "https://developer.paddle.com/paddlejs/client-side-tokens", validators.random_likely,
    ),
    Rule(
        "recurly-public-key", "Recurly", "publishable", ("ewr1-",), r"ewr1-[A-Za-z0-9]{22}",
        "https://recurly.com/developers/reference/recurly-js/",
    ),
    Rule("chargebee-key", "Chargebee", "secret", ("live_cd", "test_cd", "live_", "test_"),
        r"(?:live|test)_(?:cd)?[A-Za-z0-9]{50}", TRUFFLEHOG + "/chargebee", validators.random_likely),
)  # fmt: skip
