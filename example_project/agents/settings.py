"""Settings of the project. What every Scrapy project has is above the line, what scrapy_polite understands below it."""

from agents.facts import town

BOT_NAME = "agents"
SPIDER_MODULES = ["agents.spiders"]
NEWSPIDER_MODULE = "agents.spiders"

# Who is crawling, and where to complain: without a contact, all that an annoyed webmaster can do is block you.
USER_AGENT = "hearth-agents/1.0 (+https://www.example.com/our-crawler; crawler@example.com)"

# One line per listing, one file per crawl. Under Scrapyd each job needs a file of its own: see README.md.
FEEDS = {"out/items.jsonl": {"format": "jsonlines", "overwrite": True}}
FEED_EXPORT_ENCODING = "utf-8"

# Images are fetched as soon as there is a place to put them.
IMAGES_STORE = "out/images"

LOG_LEVEL = "INFO"

# ----------------------------------------------------------------------------------------------------------------------
# The one line that makes the crawl safe: rates per site and per group of servers, Retry-After and robots.txt obeyed,
# private addresses refused, keys taken out of items. Everything below it only tunes it, and may be left out.
ADDONS = {"scrapy_polite.Addon": 300}

# What a request costs the server, in units. A page is 2, an image 1. Search pages make a database work: they are 4,
# once the add-on is told what they look like. The links /go/... only redirect.
POLITE_KINDS = [("search", r"/search\?"), ("redirect", r"/go/\d+$")]
POLITE_COSTS = {"redirect": 1}

# What must not get into the items: API keys (always), and here people's addresses and telephone numbers as well.
POLITE_REDACT = "gdpr-strict"

# Of every image, besides the original: one to look at, and one for lists.
POLITE_IMAGES = {
    "sizes": {
        "small": {"width": 320, "height": 240, "fit": "inside", "format": "webp"},
        "thumb": {"width": 96, "height": 96, "fit": "cover", "format": "jpeg"},
    }
}

# What the demo shows while it runs, and what watches which addresses the crawl connects to. Both do nothing unless
# they are given a file to write to.
EXTENSIONS = {"agents.progress.Progress": 500, "agents.tripwire.Tripwire": 500}
PROGRESS_FILE = None
TRIPWIRE_FILE = None

# The demo crawls a town that lives on this machine. In the world outside none of this is needed.
facts = town()
if facts is not None:
    # The town has name servers and ports of its own, and lives on loopback, where the guard lets nobody go.
    POLITE_DNS_SERVERS = [facts["dns"]]
    POLITE_ALLOW_PORTS = [facts["http_port"], facts["https_port"]]
    POLITE_ALLOW_NETWORKS = [facts["network"]]

    # Sixty agents share the platform's servers. Its owner has stated what they can take: use two thirds of it.
    platform = facts["platform"]
    POLITE_LIMITS = {f"origin:{platform['cname']}": {"rate": platform["capacity"] * 2 / 3}}

    # Six more share a small host, whose owner has stated three quarters of what it can take, and forgot that it makes its
    # backup by day. Its answers become slow then, and the crawl slows down with them.
    knee = facts["knee"]
    POLITE_LIMITS[f"origin:{knee['cname']}"] = {"rate": knee["capacity"] * 3 / 4}

    # Nothing here is far away, so a slot can be narrow, and the proof of the gaps between requests sharp: at 20 units/s
    # an image pays for 50 ms, which is as much as the default width of a slot forgives.
    POLITE_SLOT_WIDTH = 0.02

    # Refusals pass within seconds in the town. The default waits are minutes, as they should be elsewhere.
    POLITE_LADDERS = {"challenge": [2, 4, 8], "error": [2, 4, 8], "rate_limited": [4, 8]}
