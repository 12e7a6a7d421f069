"""The forward proxy alone, in a process of its own: settings come in, and the way through it goes out. It ends
with its standard input, and then tells what was counted, and how many connections are open."""

from __future__ import annotations

import json
import logging
import sys
from collections import Counter

from scrapy.settings import Settings
from scrapy.utils.reactor import install_reactor


class Stats(Counter[str]):
    def inc_value(self, name: str, by: int = 1) -> None:
        self[name] += by


def tell(what: object) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def main() -> None:
    logging.basicConfig(level=logging.INFO)
    install_reactor("twisted.internet.asyncioreactor.AsyncioSelectorReactor")
    from twisted.internet import reactor

    from scrapy_polite.browser.proxy import ForwardProxy
    from scrapy_polite.config import Config
    from scrapy_polite.dns.resolver import Resolver
    from scrapy_polite.politeness import Politeness
    from scrapy_polite.resolver import UNVETTED, install_layers
    from scrapy_polite.stores.base import open_store

    settings = Settings()
    settings.setdict(json.loads(sys.stdin.readline()), priority="project")
    config, stats = Config.from_settings(settings), Stats()
    politeness = Politeness(config, open_store("memory:"), Resolver(config.dns_servers, config.dns_timeout), None, stats)
    UNVETTED.arm(config.policy.allow)
    install_layers(reactor)
    proxy = ForwardProxy(reactor, politeness)
    way = proxy.listen()
    tell([way.server, way.username, way.password])

    def obey() -> None:
        for line in sys.stdin:
            if line.strip() == "open":
                tell([len(proxy.clients), len(proxy.servers)])
        reactor.callFromThread(reactor.stop)

    reactor.callInThread(obey)
    reactor.run()
    tell(stats)


if __name__ == "__main__":
    main()
