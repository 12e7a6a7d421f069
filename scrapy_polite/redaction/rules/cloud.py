"""Keys of clouds and of what runs in them."""

from __future__ import annotations

from scrapy_polite.redaction import validators
from scrapy_polite.redaction.rules.rule import GITLEAKS, IN_BASE64, URL_SAFE, URL_SAFE_PADDED, Rule

__all__ = ["RULES"]

_DOPPLER = "https://docs.doppler.com/reference/auth-token-formats"
_SUPABASE = "https://supabase.com/docs/guides/api/api-keys"
_VAULT = "https://developer.hashicorp.com/vault/docs/concepts/tokens#token-prefixes"

RULES: tuple[Rule, ...] = (
    Rule("digitalocean-token", "DigitalOcean", "secret", ("dop_v1_", "doo_v1_", "dor_v1_"), r"do[opr]_v1_[0-9a-f]{64}",
        "https://docs.digitalocean.com/reference/api/create-personal-access-token/"),
    Rule("heroku-token", "Heroku", "secret", ("HRKU-",), r"HRKU-[\w-]{60}",
        "https://devcenter.heroku.com/articles/authentication", right=URL_SAFE),
    Rule("cloudflare-token", "Cloudflare", "secret", ("cfut_", "cfat_", "cfk_"), r"cf(?:ut|at|k)_[A-Za-z0-9]{40}[a-f0-9]{8}",
        "https://developers.cloudflare.com/fundamentals/api/get-started/create-token/"),
    Rule("cloudflare-origin-ca", "Cloudflare", "secret", ("v1.0",), r"v1\.0-[a-f0-9]{24}-[a-f0-9]{146}",
        "https://developers.cloudflare.com/fundamentals/api/get-started/ca-keys/"),
    Rule("alibaba-access-key", "Alibaba Cloud", "secret", ("LTAI",), r"LTAI[A-Za-z0-9]{12,26}",
        GITLEAKS, validators.random_likely, left=IN_BASE64),
    Rule("tencent-secret-id", "Tencent Cloud", "secret", ("AKID",), r"AKID[A-Za-z0-9]{32}",
        "https://www.tencentcloud.com/document/product/598/32675", validators.varied, left=IN_BASE64),
    Rule("yandex-api-key", "Yandex Cloud", "secret", ("AQVN",), r"AQVN[\w-]{35,38}",
        "https://yandex.cloud/en/docs/iam/concepts/authorization/api-key", validators.varied, left=IN_BASE64, right=URL_SAFE),
    Rule("yandex-iam-token", "Yandex Cloud", "transient", ("t1.",), r"t1\.[\w-]{1,500}={0,2}\.[\w-]{86}={0,2}",
        "https://yandex.cloud/en/docs/iam/concepts/authorization/iam-token", right=URL_SAFE_PADDED),
    Rule("yandex-static-key", "Yandex Cloud", "secret", ("YC",), r"YC[\w-]{38}",
        "https://yandex.cloud/en/docs/iam/concepts/authorization/access-key", validators.random_likely,
        left=IN_BASE64, right=URL_SAFE),
    Rule("supabase-access-token", "Supabase", "secret", ("sbp_",), r"sbp_[a-z0-9]{40}", _SUPABASE),
    Rule("supabase-publishable", "Supabase", "publishable", ("sb_publishable_",), r"sb_publishable_[\w-]{30,46}", _SUPABASE,
        right=URL_SAFE),
    Rule("supabase-secret", "Supabase", "secret", ("sb_secret_",), r"sb_secret_[\w-]{30,46}", _SUPABASE, right=URL_SAFE),
    Rule("planetscale-token", "PlanetScale", "secret", ("pscale_tkn_", "pscale_pw_", "pscale_oauth_"),
        r"pscale_(?:tkn|pw|oauth)_[\w=.-]{32,64}", "https://planetscale.com/docs/api/reference/service-tokens",
        right=URL_SAFE_PADDED),
    Rule("neon-api-key", "Neon", "secret", ("napi_",), r"napi_[a-z0-9]{64}", "https://neon.com/docs/manage/api-keys"),
    Rule("netlify-token", "Netlify", "secret", ("nfp_", "nfc_", "nfo_", "nfu_"), r"nf[pcou]_[A-Za-z0-9_]{36}",
        "https://docs.netlify.com/api/get-started/#authentication"),
    Rule("vercel-blob-token", "Vercel", "secret", ("vercel_blob_rw_",), r"vercel_blob_rw_[A-Za-z0-9]{16}_[A-Za-z0-9]{30}",
        "https://vercel.com/docs/vercel-blob"),
    Rule("render-api-key", "Render", "secret", ("rnd_",), r"rnd_[A-Za-z0-9]{28,32}",
        "https://render.com/docs/api", validators.random_likely),
    Rule("fly-token", "Fly.io", "secret", ("fo1_",), r"fo1_[\w-]{43}", "https://fly.io/docs/security/tokens/", right=URL_SAFE),
    Rule("doppler-token", "Doppler", "secret", ("dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."),
        r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}", _DOPPLER),
    Rule("databricks-token", "Databricks", "secret", ("dapi",), r"dapi[a-f0-9]{32}(?:-[0-9])?",
        "https://docs.databricks.com/en/dev-tools/auth/pat.html"),
    Rule("pulumi-token", "Pulumi", "secret", ("pul-",), r"pul-[a-f0-9]{40}",
        "https://www.pulumi.com/docs/pulumi-cloud/access-management/access-tokens/"),
    Rule("vault-token", "HashiCorp", "secret", ("hvs.", "hvb.", "hvr."), r"hv[sbr]\.[\w-]{24,300}", _VAULT,
        validators.random_likely, right=URL_SAFE),
    Rule("terraform-token", "HashiCorp", "secret", (".atlasv1.",), r"\.atlasv1\.[\w=-]{60,70}",
        "https://developer.hashicorp.com/terraform/cloud-docs/users-teams-organizations/api-tokens",
        left="", right=URL_SAFE_PADDED, back=r"(?<![A-Za-z0-9_])[A-Za-z0-9]{14}\Z", before=15),
    Rule("scaleway-access-key", "Scaleway", "secret", ("SCW",), r"SCW[A-Z0-9]{17}",
        "https://www.scaleway.com/en/docs/iam/concepts/", validators.random_likely, left=IN_BASE64),
    Rule("tailscale-key", "Tailscale", "secret", ("tskey-",),
        r"tskey-(?:api|auth|client|scim|webhook)-[A-Za-z0-9]{10,20}(?:CNTRL)?-[A-Za-z0-9]{20,40}",
        "https://tailscale.com/kb/1277/key-prefixes"),
    Rule("onepassword-service-account", "1Password", "secret", ("ops_eyJ",), r"ops_eyJ[A-Za-z0-9+/_-]{250,2000}={0,3}",
        "https://developer.1password.com/docs/service-accounts/security/", right="(?![A-Za-z0-9+=_]|-(?!->))"),
    Rule("harness-token", "Harness", "secret", ("pat.", "sat."), r"[ps]at\.[\w-]{22}\.[0-9a-f]{24}\.[A-Za-z0-9]{20}",
        "https://developer.harness.io/docs/platform/automation/api/api-quickstart/"),
    Rule("infracost-key", "Infracost", "secret", ("ico-",), r"ico-[A-Za-z0-9]{32}",
        GITLEAKS, validators.random_likely),
    Rule("clickhouse-cloud-key", "ClickHouse", "secret", ("4b1d",), r"4b1d[A-Za-z0-9]{38}",
        GITLEAKS, validators.random_likely, left=IN_BASE64),
    Rule("prefect-key", "Prefect", "secret", ("pnu_", "pnb_"), r"pn[ub]_[A-Za-z0-9]{36}",
        "https://docs.prefect.io/v3/how-to-guides/cloud/manage-users/api-keys"),
    Rule("backblaze-key", "Backblaze", "secret", ("K001", "K002", "K003", "K004", "K005"), r"K00[1-5][A-Za-z0-9+/]{27}",
        "https://www.backblaze.com/docs/cloud-storage-application-keys", validators.random_likely,
        left=IN_BASE64, right="(?![A-Za-z0-9+=_])"),
)  # fmt: skip
