"""Tokens of code hosts, package registries and the tools around them."""

from __future__ import annotations

from scrapy_polite.redaction import checksums, validators
from scrapy_polite.redaction.rules.rule import GITLEAKS, URL_SAFE, URL_SAFE_PADDED, UUID, Rule

__all__ = ["RULES"]

_GITHUB = "https://github.blog/engineering/platform-security/behind-githubs-new-authentication-token-formats/"
_GITLAB = "https://docs.gitlab.com/security/tokens/#token-prefixes"
_ATLASSIAN = "https://support.atlassian.com/atlassian-account/docs/manage-api-tokens-for-your-atlassian-account/"
# GitLab's routable form: https://handbook.gitlab.com/handbook/engineering/architecture/design-documents/cells/routable_tokens/
_ROUTABLE = r"(?:[\w-]{27,300}\.[0-9a-z]{2}\.[0-9a-z]{9}|[\w-]{20,64})"

RULES: tuple[Rule, ...] = (
    Rule("github-token", "GitHub", "secret", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"gh[pousr]_[A-Za-z0-9]{36,251}",
        _GITHUB, checksums.github_token),
    Rule("github-fine-grained", "GitHub", "secret", ("github_pat_",), r"github_pat_[A-Za-z0-9_]{82}",
        "https://docs.github.com/en/authentication/keeping-your-account-and-data-secure/about-authentication-to-github"),
    Rule("gitlab-token", "GitLab", "secret", ("glpat-",), rf"glpat-{_ROUTABLE}", _GITLAB, checksums.gitlab_token,
        right=URL_SAFE),
    Rule("gitlab-deploy-token", "GitLab", "secret", ("gldt-",), rf"gldt-{_ROUTABLE}", _GITLAB, checksums.gitlab_token,
        right=URL_SAFE),
    Rule("gitlab-runner-token", "GitLab", "secret", ("glrt-", "glrtr-"), rf"glrtr?-{_ROUTABLE}", _GITLAB,
        checksums.gitlab_token, right=URL_SAFE),
    Rule("gitlab-job-token", "GitLab", "transient", ("glcbt-",), r"glcbt-(?:[0-9a-zA-Z]{1,5}_)?[\w-]{20,64}", _GITLAB,
        right=URL_SAFE),
    Rule("gitlab-trigger-token", "GitLab", "secret", ("glptt-",), r"glptt-[\w-]{20,64}", _GITLAB, right=URL_SAFE),
    Rule("gitlab-feed-token", "GitLab", "secret", ("glft-", "glimt-"), r"gl(?:ft|imt)-[\w-]{20,128}", _GITLAB, right=URL_SAFE),
    Rule("gitlab-agent-token", "GitLab", "secret", ("glagent-",), r"glagent-[\w-]{20,64}", _GITLAB, right=URL_SAFE),
    Rule("gitlab-oauth-secret", "GitLab", "secret", ("gloas-",), r"gloas-[\w-]{20,64}", _GITLAB, right=URL_SAFE),
    Rule("gitlab-scim-token", "GitLab", "secret", ("glsoat-",), r"glsoat-[\w-]{20,64}", _GITLAB, right=URL_SAFE),
    Rule("gitlab-feature-flag-token", "GitLab", "publishable", ("glffct-",), r"glffct-[\w-]{20,64}", _GITLAB, right=URL_SAFE),
    Rule("npm-token", "npm", "secret", ("npm_",), r"npm_[A-Za-z0-9]{36}",
        "https://github.blog/security/announcing-npms-new-access-token-format/", checksums.github_token),
    Rule("pypi-token", "PyPI", "secret", ("pypi-AgE",), r"pypi-AgE[\w-]{50,1000}",
        "https://pypi.org/help/#apitoken", checksums.pypi_token, right=URL_SAFE),
    Rule("rubygems-key", "RubyGems", "secret", ("rubygems_",), r"rubygems_[a-f0-9]{48}",
        "https://guides.rubygems.org/api-key-scopes/"),
    Rule("nuget-key", "NuGet", "secret", ("oy2",), r"oy2[a-z0-9]{43}",
        "https://learn.microsoft.com/en-us/nuget/nuget-org/scoped-api-keys", validators.random_likely),
    Rule("docker-token", "Docker", "secret", ("dckr_pat_", "dckr_oat_"), r"dckr_[po]at_[\w-]{27,32}",
        "https://docs.docker.com/security/access-tokens/", right=URL_SAFE),
    Rule("clojars-token", "Clojars", "secret", ("CLOJARS_",), r"CLOJARS_[a-z0-9]{60}",
        "https://github.com/clojars/clojars-web/wiki/Deploy-Tokens"),
    Rule("atlassian-token", "Atlassian", "secret", ("ATATT3",), r"ATATT3[\w=-]{186}", _ATLASSIAN, checksums.crc_in_hex,
        right=URL_SAFE_PADDED),
    Rule("bitbucket-app-password", "Atlassian", "secret", ("ATBB", "ATCTT3"),
        r"AT(?:BB[A-Za-z0-9]{24}|CTT3[\w-]{180,190}=?)[A-F0-9]{8}",
        "https://support.atlassian.com/bitbucket-cloud/docs/app-passwords/", checksums.crc_in_hex),
    Rule("trello-token", "Atlassian", "secret", ("ATTA",), r"ATTA[A-Za-z0-9]{64}[A-F0-9]{8}",
        "https://developer.atlassian.com/cloud/trello/guides/rest-api/authorization/", checksums.crc_in_hex),
    Rule("postman-key", "Postman", "secret", ("PMAK-",), r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}",
        "https://learning.postman.com/docs/developer/postman-api/authentication/"),
    Rule("linear-key", "Linear", "secret", ("lin_api_", "lin_oauth_"), r"lin_(?:api_[A-Za-z0-9]{40}|oauth_[a-f0-9]{64})",
        "https://linear.app/developers/graphql#authentication"),
    Rule("figma-token", "Figma", "secret", ("figd_", "figp_", "figu_"), r"fig[dpu]_[\w=-]{40,54}",
        "https://www.figma.com/developers/api#authentication", right=URL_SAFE_PADDED),
    Rule("notion-token", "Notion", "secret", ("ntn_",), r"ntn_[0-9]{11}[A-Za-z0-9]{35}",
        "https://developers.notion.com/reference/authentication"),
    Rule("notion-secret", "Notion", "secret", ("secret_",), r"secret_[A-Za-z0-9]{43}",
        "https://developers.notion.com/reference/authentication", validators.random_likely),
    Rule("airtable-token", "Airtable", "secret", ("pat",), r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}",
        "https://airtable.com/developers/web/api/authentication"),
    Rule("sonarqube-token", "Sonar", "secret", ("sqp_", "squ_", "sqa_"), r"sq[pua]_[a-z0-9]{40}",
        "https://docs.sonarsource.com/sonarqube-server/user-guide/managing-tokens/", validators.random_likely),
    Rule("launchdarkly-key", "LaunchDarkly", "secret", ("sdk-", "api-", "mob-"), rf"(?:api|sdk|mob)-{UUID}",
        "https://launchdarkly.com/docs/home/account/api"),
    Rule("artifactory-key", "JFrog", "secret", ("AKCp",), r"AKCp[A-Za-z0-9]{69}", GITLEAKS),
    Rule("artifactory-reference-token", "JFrog", "secret", ("cmVmd",), r"cmVmd[A-Za-z0-9]{59}",
        "https://jfrog.com/help/r/jfrog-platform-administration-documentation/reference-token"),
    Rule("sourcegraph-token", "Sourcegraph", "secret", ("sgp_",), r"sgp_(?:(?:[a-f0-9]{16}|local)_)?[a-f0-9]{40}",
        "https://sourcegraph.com/docs/cli/how-tos/creating-an-access-token"),
    Rule("buildkite-token", "Buildkite", "secret", ("bkua_",), r"bkua_[a-z0-9]{40}",
        "https://buildkite.com/docs/apis/managing-api-tokens"),
    Rule("circleci-token", "CircleCI", "secret", ("CCIPAT_", "CCIPRJ_"), r"CCIP(?:AT|RJ)_[A-Za-z0-9]{22}_[a-f0-9]{40}",
        "https://circleci.com/docs/managing-api-tokens/"),
    Rule("readme-key", "ReadMe", "secret", ("rdme_",), r"rdme_[a-z0-9]{70,84}",
        "https://docs.readme.com/main/reference/authentication"),
    Rule("adobe-client-secret", "Adobe", "secret", ("p8e-",), r"p8e-[\w-]{32}", GITLEAKS, right=URL_SAFE),
    Rule("clickup-token", "ClickUp", "secret", ("pk_",), r"pk_[0-9]{5,9}_[A-Z0-9]{32}",
        "https://developer.clickup.com/docs/authentication"),
    Rule("frameio-token", "Frame.io", "secret", ("fio-u-",), r"fio-u-[\w-]{64}", GITLEAKS, right=URL_SAFE),
)  # fmt: skip
