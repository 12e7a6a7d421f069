"""Tokens of code hosts and package registries."""

from __future__ import annotations

from scrapy_polite.redaction import validators
from scrapy_polite.redaction.rules.rule import Rule

__all__ = ["RULES"]

_GITHUB = "https://github.blog/engineering/platform-security/behind-githubs-new-authentication-token-formats/"

RULES: tuple[Rule, ...] = (
    Rule(
        "github-token", "GitHub", "secret", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"gh[pousr]_[A-Za-z0-9]{36,251}",
        _GITHUB, validators.github_token,
    ),
    Rule(
        "github-fine-grained", "GitHub", "secret", ("github_pat_",), r"github_pat_[A-Za-z0-9_]{82}",
        "https://docs.github.com/en/authentication/keeping-your-account-and-data-secure/about-authentication-to-github",
    ),
)  # fmt: skip
