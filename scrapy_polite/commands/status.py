"""``scrapy polite status``: what is held, for how long and why, what is slowed or put off, and how many origins are known."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Any, Final

from scrapy_polite.backoff.ladders import State
from scrapy_polite.backoff.ladderwords import standing
from scrapy_polite.commands import hand
from scrapy_polite.commands.known import Known
from scrapy_polite.commands.paces import SLOWED, news_of, slowed
from scrapy_polite.commands.stores import existing_store, without_store
from scrapy_polite.commands.words import FOR_GOOD, UNTIL_RELEASED, moment, plural, seen, span
from scrapy_polite.config import Config
from scrapy_polite.hearing import noted_state
from scrapy_polite.holding import LADDERS
from scrapy_polite.stores.acts import Act, acts
from scrapy_polite.stores.base import StoreError
from scrapy_polite.stores.looking import LookOnly

if TYPE_CHECKING:
    import argparse

    from scrapy.settings import BaseSettings

    from scrapy_polite.stores.base import Held, Ruling

__all__ = ["add_options", "run"]

LARGEST: Final = 10
"""Origins, and rulings, that are shown; ``scrapy polite origins`` shows more."""

ACTS: Final = 5
"""What was done by hand last, in the text; --json has all that is kept."""

PACED: Final = 10_000
"""Of so many it is looked whether they are slowed."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """No options beside those of every verb."""


def run(settings: BaseSettings, options: argparse.Namespace) -> int:
    """Print every live hold, what is slowed, then the largest origins. 1 where there is no store, which only a crawl makes."""
    config = Config.from_settings(settings)
    store = existing_store(config)
    if store is None:
        sys.stderr.write(f"{without_store(config)}\n")
        return 1
    now = time.time()
    try:
        known = Known(LookOnly(store))
        held, origins = store.held(), known.origins()
        put_off = store.count_deferred()
        ladders = {key: noted_state(notes.get(LADDERS)) for key, notes in store.notes([hold.key for hold in held]).items()}
        holds = [_hold(hold, ladders.get(hold.key, State()), put_off.get(hold.key, 0), config, now) for hold in held]
        aliases = known.aliases_of([name for name, _ in origins[:LARGEST]])
        done = acts(store)
        paces, fresh = news_of(store, config, [name for name, _ in origins[:PACED]])
    except StoreError as error:
        sys.stderr.write(f"The store cannot answer: {error}\n")
        return 1
    finally:
        store.close()
    totals = {
        "origins": len(origins),
        "hosts": sum(hosts for _, hosts in origins),
        "rulings": len(known.rulings),
        "deferred": sum(put_off.values()),
    }
    if options.json:
        shown = [
            *holds,
            *({"slowed": name, **one} for name, told in paces.items() for one in told if one["pace"] > SLOWED),
            totals,
            *({"origin": name, "hosts": hosts, "aliases": aliases.get(name, [])} for name, hosts in origins[:LARGEST]),
            *({"ruled": ruling.subject, **hand.as_json(ruling)} for ruling in known.rulings),
            *(
                {"by_hand": act.verb, **{name: value for name, value in act._asdict().items() if name != "verb"}}
                for act in done
            ),
        ]
        sys.stdout.write("".join(f"{json.dumps(one)}\n" for one in shown))
    else:
        lines = [_held(hold, config.park_after) for hold in holds]
        sys.stdout.write(_as_text(lines, paces, fresh, origins, aliases, totals, known.rulings, done))
    return 0


def _hold(hold: Held, state: State, waiting: int, config: Config, now: float) -> dict[str, Any]:
    cause = hold.cause
    place = config.ladders.place(state, cause.kind)
    return {
        "key": hold.key,
        "hold": round(hold.seconds, 3),
        "until": round(now + hold.seconds, 3) if hold.seconds <= FOR_GOOD else None,
        "kind": cause.kind,
        "reason": cause.reason,
        "stated": cause.stated,
        "rung": place[0] if place is not None else None,
        "rungs": place[1] if place is not None else None,
        "refusals": state.refusals,
        "deferred": waiting,
    }


def _held(hold: dict[str, Any], park_after: int) -> str:
    """One hold as a line: how long, what for, where the key stands on its ladder, and what waits for it."""
    until = UNTIL_RELEASED if hold["until"] is None else f"{span(hold['hold'])} more, until {moment(hold['until'])}"
    stated = ", stated by the server" if hold["stated"] else ""
    place = (hold["rung"], hold["rungs"]) if hold["rung"] is not None else None
    stands = standing(place, hold["refusals"], park_after)
    stands = f" ({stands})" if stands else ""
    waiting = f"; {plural(hold['deferred'], 'request')} put off" if hold["deferred"] else ""
    return f"{hold['key']}  {until}  {hold['kind']}: {seen(hold['reason'])}{stated}{stands}{waiting}"


def _as_text(
    held: list[str],
    paces: dict[str, list[dict[str, Any]]],
    fresh: int,
    origins: list[tuple[str, int]],
    aliases: dict[str, list[str]],
    totals: dict[str, int],
    rulings: list[Ruling],
    done: list[Act],
) -> str:
    lines = [f"Held: {len(held) or 'nothing'}"]
    lines += [f"  {one}" for one in held]
    slow = [f"  {name}  {sentence}" for name, told in paces.items() for sentence in slowed(told)]
    lines += [f"Slowed: {len(slow)}", *slow] if slow else []
    lines += [f"New, and slow until their first answers are here: {plural(fresh, 'origin')}"] if fresh else []
    lines += ["By hand, the newest first:"] if done else []
    lines += [f"  {moment(act.at)}  {seen(act.sentence())}" for act in done[:ACTS]]
    lines += [f"Ruled by hand: {len(rulings)}"] if rulings else []
    lines += [f"  {seen(hand.sentence(ruling))}" for ruling in sorted(rulings, key=lambda one: -one.made)[:LARGEST]]
    if len(rulings) > LARGEST:
        lines.append(f"  and {len(rulings) - LARGEST} more: scrapy polite origins")
    if totals["deferred"]:
        lines.append(f"Put off: {plural(totals['deferred'], 'request')}, see scrapy polite deferred")
    lines.append(f"Origins: {len(origins)}, of {plural(totals['hosts'], 'host')}" if origins else "Origins: none yet")
    for name, hosts in origins[:LARGEST]:
        also = f", also known as {', '.join(aliases[name])}" if name in aliases else ""
        lines.append(f"  {name}  {plural(hosts, 'host')}{also}")
    if len(origins) > LARGEST:
        lines.append(f"  and {len(origins) - LARGEST} more: scrapy polite origins")
    return "\n".join(lines) + "\n"
