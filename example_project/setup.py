"""What `scrapyd-deploy` packs into an egg: the spiders and their settings. The town and the demo stay at home."""

from setuptools import find_packages, setup  # type: ignore[import-untyped,unused-ignore]

setup(
    name="agents",
    version="1.0",
    packages=find_packages(include=["agents", "agents.*"]),
    entry_points={"scrapy": ["settings = agents.settings"]},
)
