"""Keys of model providers and of what is built around them."""

from __future__ import annotations

from scrapy_polite.redaction import validators
from scrapy_polite.redaction.rules.rule import NO_HYPHEN, TRUFFLEHOG, URL_SAFE, UUID, Rule

__all__ = ["RULES"]

_ANTHROPIC = "https://docs.claude.com/en/api/admin-api/apikeys/get-api-key"
_LANGFUSE = "https://langfuse.com/faq/all/where-are-langfuse-api-keys"

RULES: tuple[Rule, ...] = (
    Rule("openai-key", "OpenAI", "secret", ("T3BlbkFJ",), r"T3BlbkFJ[\w-]{20,100}",
        "https://platform.openai.com/docs/api-reference/authentication", left="", right=URL_SAFE,
        back=r"(?:(?<![A-Za-z0-9_-])|(?<=<!--))sk-(?:(?:proj|svcacct|admin)-[\w-]{20,100}|[A-Za-z0-9]{20})\Z", before=120),
    Rule("anthropic-key", "Anthropic", "secret", ("sk-ant-api",), r"sk-ant-api[0-9]{2}-[\w-]{93}AA", _ANTHROPIC,
        right=URL_SAFE),
    Rule("anthropic-admin-key", "Anthropic", "secret", ("sk-ant-admin",), r"sk-ant-admin[0-9]{2}-[\w-]{93}AA", _ANTHROPIC,
        right=URL_SAFE),
    Rule("anthropic-oauth-token", "Anthropic", "secret", ("sk-ant-oat", "sk-ant-ort"), r"sk-ant-o[ar]t[0-9]{2}-[\w-]{80,120}",
        TRUFFLEHOG + "/anthropic", right=URL_SAFE),
    Rule("huggingface-token", "Hugging Face", "secret", ("hf_", "api_org_"), r"(?:hf_|api_org_)[A-Za-z0-9]{34}",
        "https://huggingface.co/docs/hub/security-tokens", validators.varied),
    Rule("groq-key", "Groq", "secret", ("gsk_",), r"gsk_[A-Za-z0-9]{52}", "https://console.groq.com/docs/quickstart"),
    Rule("replicate-token", "Replicate", "secret", ("r8_",), r"r8_[\w-]{37}",
        "https://replicate.com/docs/topics/security/api-tokens",
        validators.random_likely, right=URL_SAFE),
    Rule("xai-key", "xAI", "secret", ("xai-",), r"xai-[A-Za-z0-9_]{80}", "https://docs.x.ai/docs/overview"),
    Rule("perplexity-key", "Perplexity", "secret", ("pplx-",), r"pplx-[A-Za-z0-9]{48}",
        "https://docs.perplexity.ai/getting-started/quickstart"),
    Rule("elevenlabs-key", "ElevenLabs", "secret", ("sk_",), r"sk_[a-f0-9]{48}",
        "https://elevenlabs.io/docs/api-reference/authentication"),
    Rule("openrouter-key", "OpenRouter", "secret", ("sk-or-v1-",), r"sk-or-v1-[0-9a-f]{64}",
        "https://openrouter.ai/docs/api-reference/authentication"),
    Rule("deepseek-key", "DeepSeek", "secret", ("sk-",), r"sk-[0-9a-f]{32}", "https://api-docs.deepseek.com/",
        validators.random_likely),
    Rule("together-key", "Together AI", "secret", ("tgp_v1_",), r"tgp_v1_[\w-]{43}",
        "https://docs.together.ai/docs/quickstart", right=URL_SAFE),
    Rule("fireworks-key", "Fireworks AI", "secret", ("fw_",), r"fw_[A-Za-z0-9]{22,24}", TRUFFLEHOG, validators.random_likely),
    Rule("langsmith-key", "LangChain", "secret", ("lsv2_pt_", "lsv2_sk_"), r"lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}",
        "https://docs.langchain.com/langsmith/create-account-api-key"),
    Rule("nvidia-key", "NVIDIA", "secret", ("nvapi-",), r"nvapi-[\w-]{64}",
        "https://docs.api.nvidia.com/nim/docs/api-quickstart", right=URL_SAFE),
    Rule("cerebras-key", "Cerebras", "secret", ("csk-",), r"csk-[a-z0-9]{48}", "https://inference-docs.cerebras.ai/quickstart"),
    Rule("pinecone-key", "Pinecone", "secret", ("pcsk_",), r"pcsk_[A-Za-z0-9]{5,6}_[A-Za-z0-9]{60,70}",
        "https://docs.pinecone.io/guides/projects/manage-api-keys"),
    Rule("tavily-key", "Tavily", "secret", ("tvly-",), r"tvly-(?:dev-|prod-)?[A-Za-z0-9]{32}",
        "https://docs.tavily.com/documentation/quickstart"),
    Rule("firecrawl-key", "Firecrawl", "secret", ("fc-",), r"fc-[0-9a-f]{32}", "https://docs.firecrawl.dev/introduction",
        validators.random_likely),
    Rule("voyage-key", "Voyage AI", "secret", ("pa-",), r"pa-[\w-]{43}",
        "https://docs.voyageai.com/docs/api-key-and-installation",
        validators.random_likely, left=NO_HYPHEN, right=URL_SAFE),
    Rule("jina-key", "Jina AI", "secret", ("jina_",), r"jina_[a-f0-9]{32}[\w-]{28}", TRUFFLEHOG + "/jina", right=URL_SAFE),
    Rule("langfuse-public-key", "Langfuse", "publishable", ("pk-lf-",), rf"pk-lf-{UUID}", _LANGFUSE),
    Rule("langfuse-secret-key", "Langfuse", "secret", ("sk-lf-",), rf"sk-lf-{UUID}", _LANGFUSE),
)  # fmt: skip
