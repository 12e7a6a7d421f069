"""Images: judged by their header, decoded once with libvips, resized and stripped, the original bytes untouched.

`policy` says what is wanted and allowed, `signature` what a body is by its own first and last bytes, and both are pure.
`libvips` is the only module that loads libvips, and only when it is used; `convert` works with it.
"""

from __future__ import annotations

from scrapy_polite.images.policy import (
    OUTCOMES,
    Header,
    ImagesConfig,
    Picture,
    Rejected,
    Size,
    Variant,
    images_from,
)

__all__ = ["OUTCOMES", "Header", "ImagesConfig", "Picture", "Rejected", "Size", "Variant", "images_from"]
