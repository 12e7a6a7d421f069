"""A Scrapy project that crawls estate agents' sites, made polite by one line in its settings."""
