"""How the answers of the common bot walls and firewalls look, so that they are heard as what they are.

A challenge is recognised and waited out: never solved, and never met with another identity. Each row of `SIGNATURES` says
where its facts are from and how sure they are. What deciding parts have in common: they are on the refusing answer, and not
on the good ones of the same vendor. A cookie, `x-datadome: protected`, `x-cdn: Imperva` or a script of the vendor's alone
are on both, and say nothing.

This is the table; `marks` looks for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

SMALL: Final = 5 * 1024
"""Bytes of a page that is nothing but a script. Imperva's has about 1 KiB."""

WALL: Final = 20 * 1024
"""Bytes of a page that is a CAPTCHA and little more."""

Checked = Literal["vendor", "third party", "ours"]
"""Who says so: the vendor's own documentation; others, who have captured such answers (to be looked at anew before it is
relied on); a rule of our own."""

_DENIED = frozenset({401, 403})
_WALLS = frozenset({401, 403, 405, 406, 429, 503})
_GOOD = frozenset({200, 202, 203})


@dataclass(frozen=True, slots=True)
class Signature:
    """One kind of answer by which one vendor refuses.

    Args:
        vendor, name: for people; the name is unique.
        kind: the ladder that it belongs to.
        statuses: the statuses with which it counts. Empty: any.
        header: (name, part of the value): a header that has to be there; "" for any value.
        marks: one of them has to be in the body, in lower case; empty: the body says nothing.
        also: all of them have to be in the body.
        within: bytes that the body has at most; 0: any number.
        wall: the body has to read as a wall: `marks.is_wall`.
        source, checked: where that is known from, and how well.
    """

    vendor: str
    name: str
    kind: str
    statuses: frozenset[int]
    source: str
    checked: Checked
    header: tuple[str, str] | None = None
    marks: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    within: int = 0
    wall: bool = False


_CHALLENGES = "https://developers.cloudflare.com/cloudflare-challenges/challenge-types/challenge-pages/detect-response"
_CLOUDFLARE_1XXX = "https://developers.cloudflare.com/changelog/post/2026-03-12-retry-after-header-for-1xxx-errors"
_AWS = "https://docs.aws.amazon.com/waf/latest/developerguide/waf-captcha-and-challenge-actions.html"
_CAPTURED = "captures of such answers"
_CAPTCHA = ("g-recaptcha", "h-captcha", "cf-turnstile", "challenges.cloudflare.com/turnstile")

SIGNATURES: Final[tuple[Signature, ...]] = (
    # -- By a header. It beats the status and the body.
    # "challenge" is its only value, and it is on every type of challenge.
    Signature(
        "Cloudflare", "Cloudflare challenge", "challenge", frozenset(), _CHALLENGES, "vendor", ("cf-mitigated", "challenge")
    ),
    # 202 would pass for success.
    Signature(
        "AWS WAF", "AWS WAF challenge", "challenge", frozenset({202}), _AWS, "vendor", ("x-amzn-waf-action", "challenge")
    ),
    Signature("AWS WAF", "AWS WAF CAPTCHA", "challenge", frozenset({405}), _AWS, "vendor", ("x-amzn-waf-action", "captcha")),
    Signature(
        "Vercel",
        "Vercel challenge",
        "challenge",
        frozenset({403, 429}),
        _CAPTURED,
        "third party",
        ("x-vercel-mitigated", "challenge"),
    ),
    # `t=bv` (also in the page's `dd` object) is a ban of the address; before the row of the header, which is on both.
    Signature(
        "DataDome",
        "DataDome ban",
        "denied",
        frozenset({401, 403, 429}),
        _CAPTURED,
        "third party",
        marks=("t=bv", "'t':'bv'", '"t":"bv"'),
        also=("captcha-delivery.com",),
    ),
    # The header is set where a request is blocked and the answer is JSON.
    Signature(
        "DataDome",
        "DataDome block",
        "challenge",
        frozenset({401, 403, 429}),
        "https://docs.datadome.co/reference/validate-request",
        "vendor",
        ("x-dd-b", ""),
    ),
    # A first request is met with 429, which no waiting ends: no rate limit. The headers are on good answers, too.
    Signature("Kasada", "Kasada challenge", "challenge", frozenset({403, 429}), _CAPTURED, "third party", ("x-kpsdk-ct", "")),
    Signature(
        "Kasada", "Kasada challenge (r)", "challenge", frozenset({403, 429}), _CAPTURED, "third party", ("x-kpsdk-r", "")
    ),
    Signature(
        "Kasada", "Kasada challenge (im)", "challenge", frozenset({403, 429}), _CAPTURED, "third party", ("x-kpsdk-im", "")
    ),
    Signature(
        "Google",
        "Google redirect to its CAPTCHA",
        "challenge",
        frozenset({302, 303, 307}),
        _CAPTURED,
        "third party",
        ("location", "google.com/sorry/"),
    ),
    # -- By the status and the body.
    Signature(
        "Cloudflare",
        "Cloudflare rate limit (1015)",
        "rate_limited",
        frozenset({429}),
        _CLOUDFLARE_1XXX,
        "vendor",
        ("server", "cloudflare"),
        ("error code: 1015", "error 1015", '"error_code":1015', '"error_code": 1015'),
    ),
    Signature(
        "Cloudflare",
        "Cloudflare challenge page",
        "challenge",
        _WALLS,
        _CAPTURED,
        "third party",
        # Not /cdn-cgi/challenge-platform/: its script is set into good pages, too.
        marks=("_cf_chl_opt", "<title>just a moment..."),
    ),
    Signature(
        "Cloudflare",
        "Cloudflare block",
        "denied",
        frozenset({403}),
        _CAPTURED,
        "third party",
        ("server", "cloudflare"),
        (
            "attention required! | cloudflare",
            "cf-error-details",
            # Its plain text: bans of an address (1006 to 1008), a country, a browser; forbidden; a rule.
            *(f"error code: {code}" for code in (1006, 1007, 1008, 1009, 1010, 1012, 1020)),
        ),
    ),
    Signature(
        "AWS",
        "CloudFront block",
        "denied",
        frozenset({403}),
        _CAPTURED,
        "third party",
        marks=("the request could not be satisfied",),
        also=("cloudfront",),
    ),
    Signature(
        "Akamai",
        "Akamai denial",
        "denied",
        frozenset({403}),
        _CAPTURED,
        "third party",
        # The second spelling is the page's own, with its dots as entities.
        marks=("errors.edgesuite.net", "errors&#46;edgesuite&#46;net"),
    ),
    Signature(
        "Akamai", "Akamai challenge", "challenge", frozenset({428}), _CAPTURED, "third party", marks=("sec-cp-challenge",)
    ),
    Signature(
        "DataDome",
        "DataDome page",
        "challenge",
        frozenset({401, 403, 429}),
        _CAPTURED,
        "third party",
        marks=("captcha-delivery.com",),
    ),
    # The sensor's `_pxAppId` is on good pages: the element of the puzzle and the page's title are not.
    Signature(
        "HUMAN",
        "HUMAN challenge",
        "challenge",
        frozenset({403, 429}),
        "block pages in the vendor's enforcers (perimeterx-nginx-plugin, examples)",
        "vendor",
        marks=("px-captcha",),
    ),
    Signature(
        "HUMAN",
        "HUMAN challenge (JSON)",
        "challenge",
        frozenset({403, 429}),
        _CAPTURED,
        "third party",
        marks=("blockscript",),
        also=("jsclientsrc",),
    ),
    Signature(
        "HUMAN",
        "HUMAN block",
        "denied",
        frozenset({403}),
        _CAPTURED,
        "third party",
        marks=("access to this page has been denied",),
        also=("_pxappid",),
    ),
    Signature(
        "Imperva",
        "Imperva denial",
        "denied",
        _GOOD | _DENIED,
        _CAPTURED,
        "third party",
        marks=("edet=15",),
        also=("_incapsula_resource?cwudnsai=",),
        within=WALL,
    ),
    Signature(
        "Imperva",
        "Imperva challenge",
        "challenge",
        _GOOD | _WALLS,
        _CAPTURED,
        "third party",
        marks=("_incapsula_resource?cwudnsai=", "incapsula incident id"),
        within=WALL,
    ),
    # The same script is also on good pages, which are longer.
    Signature(
        "Imperva",
        "Imperva script page",
        "challenge",
        _GOOD | _WALLS,
        _CAPTURED,
        "third party",
        marks=("_incapsula_resource?swjiylwa=",),
        within=SMALL,
    ),
    Signature(
        "Kasada",
        "Kasada page",
        "challenge",
        frozenset({403, 429}),
        _CAPTURED,
        "third party",
        marks=("ips.js",),
        also=("kpsdk",),
    ),
    Signature(
        "Sucuri",
        "Sucuri block",
        "denied",
        frozenset({403}),
        _CAPTURED,
        "third party",
        marks=("sucuri website firewall", "sucuri cloudproxy"),
        also=("access denied",),
    ),
    Signature(
        "DDoS-Guard",
        "DDoS-Guard challenge",
        "challenge",
        frozenset({403, 429, 503}),
        _CAPTURED,
        "third party",
        ("server", "ddos-guard"),
        ("<title>ddos-guard",),
    ),
    # The status of the vendor's default page is 200.
    Signature(
        "F5",
        "F5 rejection",
        "denied",
        _GOOD | _DENIED,
        "https://support.f5silverline.com/hc/en-us/articles/228916927",
        "vendor",
        marks=("the requested url was rejected. please consult with your administrator",),
        also=("support id",),
        within=SMALL,
    ),
    Signature(
        "Google",
        "Google CAPTCHA",
        "challenge",
        frozenset({200, 403, 429, 503}),
        _CAPTURED,
        "third party",
        marks=("unusual traffic from your computer network",),
        within=WALL,
    ),
    Signature(
        "AWS S3",
        "S3 slow down",
        "rate_limited",
        frozenset({503}),
        "https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html",
        "vendor",
        marks=("<code>slowdown</code>",),
    ),
    *(
        Signature(
            "RateLimit draft",
            f"problem type {problem}",
            "rate_limited",
            frozenset({400, 403, 429, 503}),
            "draft-ietf-httpapi-ratelimit-headers-11, section 5",
            "vendor",
            marks=(f"http-problem-types#{problem}",),
        )
        for problem in ("quota-exceeded", "temporary-reduced-capacity", "abnormal-usage-detected")
    ),
    # -- By the body alone, with a rule against the pages that only carry or mention it.
    Signature(
        "Cloudflare", "Cloudflare challenge page (200)", "challenge", _GOOD, _CAPTURED, "third party", marks=("_cf_chl_opt",)
    ),
    Signature(
        "a CAPTCHA",
        "CAPTCHA page",
        "challenge",
        _GOOD | _WALLS,
        "the widgets' names in their vendors' documentation; that they stand before a page, by a rule of ours",
        "ours",
        marks=_CAPTCHA,
        within=WALL,
        wall=True,
    ),
)
