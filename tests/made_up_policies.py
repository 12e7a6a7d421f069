"""Policies at random, and one from its parts."""

from __future__ import annotations

from hypothesis import strategies as st

from scrapy_polite.redaction import PRESETS, Redactor, policy_from
from scrapy_polite.redaction.policy import KINDS

__all__ = ["KEY", "OTHER_KEY", "POLICIES", "redactor"]

KEY = "0123456789abcdef" * 3
OTHER_KEY = "fedcba9876543210" * 3


def redactor(**parts: object) -> Redactor:
    policy = policy_from(parts)
    assert policy is not None
    return Redactor(policy)


_ACTIONS = st.one_of(
    st.sampled_from(["keep", "replace", "mask", "token", "hash", "round"]),
    st.fixed_dictionaries({"action": st.just("replace"), "text": st.sampled_from(["removed", "not-shown"])}),
    st.fixed_dictionaries({"action": st.just("round"), "places": st.integers(0, 5)}),
    st.fixed_dictionaries({"action": st.sampled_from(["token", "hash"]), "group": st.sampled_from(["", "reviews"])}),
)
_KINDS = st.sampled_from([*sorted(KINDS), "personal", "secret", "transient", "*", "uk-*"])
POLICIES = st.fixed_dictionaries(
    {
        "preset": st.sampled_from(sorted(PRESETS)),
        "kinds": st.dictionaries(_KINDS, _ACTIONS, max_size=5),
        "fields": st.dictionaries(st.sampled_from(["page", "*", "agent.*"]), st.dictionaries(_KINDS, _ACTIONS), max_size=2),
        "choices": st.lists(
            st.fixed_dictionaries(
                {"kinds": _KINDS, "context": st.sampled_from(["", "*", "tel", "*phone*"]), "action": st.just("mask")}
            ),
            max_size=2,
        ),
        "key": st.just(KEY),
        "regions": st.sampled_from([["GB"], ["US", "GB"], ["ES"]]),
    }
)
