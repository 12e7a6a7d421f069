"""Browsers: what a page loads by itself is judged and pinned like any request, by a forward proxy that is the browser's only
way to the network."""
