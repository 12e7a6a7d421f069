"""Keys of payments."""

from __future__ import annotations

from scrapy_polite.redaction.rules.rule import Rule

__all__ = ["RULES"]

_STRIPE = "https://docs.stripe.com/keys"

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
)  # fmt: skip
