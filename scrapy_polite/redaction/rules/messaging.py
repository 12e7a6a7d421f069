"""Keys of mail, chat, telephony and notifications."""

from __future__ import annotations

from scrapy_polite.redaction import validators
from scrapy_polite.redaction.rules.rule import NO_HYPHEN, TRUFFLEHOG, URL_SAFE, UUID, Rule

__all__ = ["RULES"]

_SLACK = "https://docs.slack.dev/authentication/tokens"
_BREVO = "https://developers.brevo.com/docs/getting-started"
_MAILGUN = "https://documentation.mailgun.com/docs/mailgun/api-reference/mg-auth"
_PUBNUB = "https://www.pubnub.com/docs/general/setup/account-setup"

RULES: tuple[Rule, ...] = (
    Rule("slack-token", "Slack", "secret", ("xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxe-", "xoxs-", "xoxe.", "xoxc-", "xoxd-"),
        r"xox(?:[bpaersc]-|e\.xox[bp]-)[0-9A-Za-z-]{10,250}", _SLACK, validators.random_likely, right=URL_SAFE),
    Rule("slack-app-token", "Slack", "secret", ("xapp-",), r"xapp-[0-9]-[A-Z0-9]{5,20}-[0-9]{5,20}-[a-z0-9]{20,100}", _SLACK),
    Rule("slack-webhook", "Slack", "secret", ("hooks.slack.com/",),
        r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<value>[A-Za-z0-9+/]{40,80})",
        "https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks", left="", right="(?![A-Za-z0-9+])"),
    Rule("discord-webhook", "Discord", "secret", ("/api/webhooks/",), r"/api/webhooks/[0-9]{17,20}/(?P<value>[\w-]{60,72})",
        "https://discord.com/developers/docs/resources/webhook", left="", right=URL_SAFE),
    Rule("telegram-bot-token", "Telegram", "secret", (":A",), r":A[\w-]{34}",
        "https://core.telegram.org/bots/api#authorizing-your-bot", validators.random_likely, left="", right=URL_SAFE,
        back=r"(?:(?<![A-Za-z0-9_])|(?<=bot))[0-9]{8,10}\Z", before=14),
    Rule("teams-webhook", "Microsoft", "secret", (".webhook.office.com/",),
        rf"\.webhook\.office\.com/webhookb2/(?P<value>{UUID}@{UUID}/IncomingWebhook/[0-9a-f]{{32}}/{UUID})",
        "https://learn.microsoft.com/en-us/microsoftteams/platform/webhooks-and-connectors/how-to/add-incoming-webhook",
        left=""),
    Rule("zapier-webhook", "Zapier", "secret", ("hooks.zapier.com/",),
        r"hooks\.zapier\.com/hooks/catch/(?P<value>[0-9]{4,10}/[A-Za-z0-9]{5,10})",
        "https://help.zapier.com/hc/en-us/articles/8496288690317", left=""),
    Rule("twilio-account-sid", "Twilio", "secret", ("AC",), r"AC[0-9a-f]{32}",
        "https://www.twilio.com/docs/glossary/what-is-a-sid"),
    Rule("twilio-api-key", "Twilio", "secret", ("SK",), r"SK[0-9a-f]{32}", "https://www.twilio.com/docs/iam/api-keys"),
    Rule("sendgrid-key", "SendGrid", "secret", ("SG.",), r"SG\.[\w-]{20,24}\.[\w-]{39,50}",
        "https://www.twilio.com/docs/sendgrid/ui/account-and-settings/api-keys", validators.varied, right=URL_SAFE),
    Rule("mailgun-key", "Mailgun", "secret", ("key-",), r"key-[a-z0-9]{32}", _MAILGUN, validators.random_likely),
    Rule("mailgun-public-key", "Mailgun", "publishable", ("pubkey-",), r"pubkey-[a-f0-9]{32}", _MAILGUN),
    Rule("mailchimp-key", "Mailchimp", "secret", ("-us",), r"-us[0-9]{1,2}",
        "https://mailchimp.com/developer/marketing/docs/fundamentals/",
        left="", back=r"(?<![A-Za-z0-9_])[0-9a-f]{32}\Z", before=33),
    Rule("mandrill-key", "Mailchimp", "secret", ("md-",), r"md-[\w-]{22}", TRUFFLEHOG + "/mandrill", validators.random_likely,
        left=NO_HYPHEN, right=URL_SAFE),
    Rule("brevo-key", "Brevo", "secret", ("xkeysib-",), r"xkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16}", _BREVO),
    Rule("brevo-smtp-key", "Brevo", "secret", ("xsmtpsib-",), r"xsmtpsib-[a-f0-9]{64}-[A-Za-z0-9]{16}", _BREVO),
    Rule("klaviyo-key", "Klaviyo", "secret", ("pk_",), r"pk_(?:[0-9a-f]{34}|[A-Za-z0-9]{6}_[0-9a-f]{34})",
        "https://developers.klaviyo.com/en/docs/authenticate_"),
    Rule("hubspot-token", "HubSpot", "secret", ("pat-na", "pat-eu", "pat-ap"), rf"pat-(?:na|eu|ap)[0-9]-{UUID}",
        "https://developers.hubspot.com/docs/apps/legacy-apps/private-apps/overview"),
    Rule("pubnub-key", "PubNub", "publishable", ("pub-c-", "sub-c-"),
        r"(?:pub|sub)-c-[0-9a-z]{8}-[0-9a-z]{4}-[0-9a-z]{4}-[0-9a-z]{4}-[0-9a-z]{12}", _PUBNUB),
    Rule("pubnub-secret", "PubNub", "secret", ("sec-c-",), r"sec-c-[A-Za-z0-9]{48}", _PUBNUB),
    Rule("onesignal-key", "OneSignal", "secret", ("os_v2_app_", "os_v2_org_"), r"os_v2_(?:app|org)_[a-z2-7]{103}",
        "https://documentation.onesignal.com/docs/en/keys-and-ids"),
    Rule("resend-key", "Resend", "secret", ("re_",), r"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{24}",
        "https://resend.com/docs/api-reference/introduction", validators.random_likely),
    Rule("mailersend-token", "MailerSend", "secret", ("mlsn.",), r"mlsn\.[a-f0-9]{64}",
        "https://developers.mailersend.com/general.html#authentication"),
    Rule("intercom-token", "Intercom", "secret", ("dG9rO",), r"dG9rO[A-Za-z0-9+/]{54}=",
        "https://developers.intercom.com/docs/build-an-integration/learn-more/authentication", right=""),
    Rule("expo-push-token", "Expo", "transient", ("ExponentPushToken[", "ExpoPushToken["),
        r"Expo(?:nent)?PushToken\[(?P<value>[\w-]{22})\]",
        "https://docs.expo.dev/push-notifications/sending-notifications/", right=""),
)  # fmt: skip
