"""Where pages put a value: each placement is a piece of a page with the value in it, under a name, escaped as it must be there.

Those whose name begins with "url" take the value as a parameter or a part of a URL; the others take any text. A value that is
one only as a parameter stands in the others within a URL.
"""

from __future__ import annotations

import html
import json
from typing import TYPE_CHECKING
from urllib.parse import quote, quote_plus

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.redacting.values import Made

__all__ = ["PLACEMENTS", "placed"]

_NAMES = {
    "=": "equals", "&": "amp", "/": "sol", ":": "colon", "?": "quest", "@": "commat", "+": "plus", ".": "period", "_": "lowbar",
    "$": "dollar", "|": "verbar", "%": "percnt", "!": "excl", "#": "num",
}  # fmt: skip


def _entities(text: str, form: str) -> str:
    return "".join(c if c.isalnum() or c in " -._" else form.format(ord(c)) for c in text)


def _named_entities(text: str) -> str:
    return "".join(f"&{_NAMES[c]};" if c in _NAMES else c for c in text)


def _attribute(text: str) -> str:
    return html.escape(text)


def _script(text: str, quote_: str) -> str:
    return text.replace("\\", "\\\\").replace(quote_, "\\" + quote_).replace("</", "<\\/")


def _json_signs(text: str) -> str:
    return text.replace("=", "\\u003d").replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _hex_script(text: str) -> str:
    return "".join(c if c.isalnum() else f"\\x{ord(c):02x}" for c in text)


def _url(name: str, value: str, before: str = "", after: str = "") -> str:
    return f"https://api.example/v1/tiles?{before}{name}={quote(value, safe='')}{after}"


PLACEMENTS: dict[str, Callable[[str, str], str]] = {
    # Attributes.
    "attribute, double quotes": lambda n, v: f'<div {n}="{_attribute(v)}" class="a">x</div>',
    "attribute, single quotes": lambda n, v: f"<div {n}='{_attribute(v)}' class='a'>x</div>",
    "attribute, unquoted": lambda n, v: f"<div {n}={_attribute(quote(v, safe=':/?&=@+$~!,;%|'))} class=a>x</div>",
    "attribute, unquoted at the end": lambda n, v: f"<div {n}={_attribute(quote(v, safe=':?&=@+$~!,;%|'))}>x</div>",
    "data- attribute": lambda n, v: f'<div id=map data-{n}="{_attribute(v)}"></div>',
    "data- attribute with JSON": lambda n, v: f'<div data-props="{_attribute(json.dumps({"a": 1, n: v, "z": [2]}))}"></div>',
    "data- attribute with JSON in apostrophes": lambda n, v: f"<div data-props='{json.dumps({n: v, 'z': [2]})}'></div>",
    "data- attribute, hex entities": lambda n, v: f'<div data-{n}="{_entities(v, "&#x{:x};")}"></div>',
    "data- attribute, decimal entities": lambda n, v: f'<div data-{n}="{_entities(v, "&#{};")}"></div>',
    "data- attribute, named entities": lambda n, v: f'<div data-{n}="{_named_entities(v)}"></div>',
    "data- attribute, escaped twice": lambda n, v: f'<div data-{n}="{_attribute(_attribute(json.dumps({n: v})))}"></div>',
    "meta tag": lambda n, v: f'<meta name="{n}" content="{_attribute(v)}">',
    "hidden field": lambda n, v: f'<input type="hidden" name="{n}" value="{_attribute(v)}">',
    "iframe srcdoc": lambda n, v: (
        f'<iframe srcdoc="{_attribute(f"<p data-{n}={chr(34)}{_attribute(v)}{chr(34)}>x</p>")}"></iframe>'
    ),
    "event handler": lambda n, v: f'<a onclick="go(&#39;{n}&#39;, &#39;{_attribute(v)}&#39;)">x</a>',
    # Scripts.
    "script, double quotes": lambda n, v: f'<script>var {n}="{_script(v, chr(34))}",b=1;</script>',
    "script, single quotes": lambda n, v: f"<script>window.c={{{n}:'{_script(v, chr(39))}',b:1}}</script>",
    "script, backtick": lambda n, v: f"<script>const {n} = `{_script(v, '`')}`;</script>",
    "script, argument": lambda n, v: f"<script>init('{n}', '{_script(v, chr(39))}', {{zoom: 3}});</script>",
    "script, in a longer string": lambda n, v: f'<script>load("{n}: {_script(v, chr(34))}; mode=fast")</script>',
    "script, \\x escapes": lambda n, v: f"<script>var {n}='{_hex_script(v)}';</script>",
    "script, CDATA": lambda n, v: f'<script>//<![CDATA[\nvar {n} = "{_script(v, chr(34))}";\n//]]></script>',
    "script, minified": lambda n, v: f'<script>!function(e){{e.{n}="{_script(v, chr(34))}",e.z=!0}}(window)</script>',
    # JSON.
    "JSON": lambda n, v: f'<script type="application/json">{json.dumps({"a": 1, n: v, "z": None})}</script>',
    "JSON, compact": lambda n, v: json.dumps({n: v, "z": 1}, separators=(",", ":")),
    "JSON, \\/": lambda n, v: json.dumps({n: v, "u": "https://x.example/"}).replace("/", "\\/"),
    "JSON, \\u0026 and \\u003d": lambda n, v: f"<script>s={_json_signs(json.dumps({n: v, 'u': '/?a=1&b=2'}))}</script>",
    "JSON, after a line break": lambda n, v: json.dumps({"text": f"one\n{n}: {v}\ntwo"}),
    "JSON, in a list": lambda n, v: json.dumps({n: [v, 1]}),
    "JSON in JSON": lambda n, v: json.dumps({"state": json.dumps({n: v, "z": 1})}),
    "JSON in JSON in a script": lambda n, v: f"<script>s=JSON.parse({json.dumps(json.dumps({n: v, 'z': 'a/b'}))})</script>",
    "JSON-LD": lambda n, v: (
        f'<script type="application/ld+json">{json.dumps({"@context": "https://schema.org", n: v}, indent=1)}</script>'
    ),
    "source map": lambda n, v: json.dumps(
        {"version": 3, "sources": ["a.ts"], "sourcesContent": [f'export const {n} = "{v}";\n'], "mappings": "AAAA,EAAE"}
    ),
    # URLs.
    "url, before &": lambda n, v: _url(n, v, "a=1&", "&z=2"),
    "url, before &amp;": lambda n, v: f'<script src="{_attribute(_url(n, v, "a=1&", "&libraries=places"))}"></script>',
    "url, at the end": lambda n, v: f'<img src="{_attribute(_url(n, v, "a=1&"))}">',
    "url, first of a query": lambda n, v: _url(n, v, "", "&size=640x480"),
    "url, before #": lambda n, v: f"<a href='{_url(n, v, '', '#top')}'>x</a>",
    "url, in a fragment": lambda n, v: f"https://app.example/cb#{n}={quote(v, safe='')}&state=1",
    "url, in a path": lambda n, v: f"https://api.example/{n}/{quote(v, safe='@:$+=!,;')}/tiles/1.png",
    "url, percent-encoded in another": lambda n, v: f"/login?next={quote(_url(n, v, 'a=1&', '&z=2'), safe='')}&b=3",
    "url, form-encoded in another": lambda n, v: f"/r?to={quote_plus(_url(n, v, 'a=1&', '&z=2'))}",
    "url, JSON \\u0026": lambda n, v: (
        json.dumps({"src": _url(n, v, "a=1&", "&z=2")}).replace("&", "\\u0026").replace("/", "\\/")
    ),
    "url, in srcset": lambda n, v: f'<img srcset="{_attribute(_url(n, v, "w=1&"))} 1x, {_attribute(_url("b", "2"))} 2x">',
    "url, in CSS": lambda n, v: f"<style>.a{{background:url({_url(n, v, 'a=1&')})}}</style>",
    "url, in CSS with quotes": lambda n, v: f"<div style=\"background:url('{_attribute(_url(n, v, 'a=1&'))}')\">x</div>",
    "url, in Markdown": lambda n, v: f"[map]({_url(n, v, 'a=1&')}) and more",
    "url, in a sentence": lambda n, v: f"<p>See {_attribute(_url(n, v, 'a=1&'))}. Then go on.</p>",
    # Text.
    "comment": lambda n, v: f"<!-- {n}: {v} -->",
    "comment, tight": lambda n, v: f"<!--{n}={v}-->",
    "conditional comment": lambda n, v: f"<!--[if IE]><p {n}='{_attribute(v)}'>x</p><![endif]-->",
    "noscript": lambda n, v: f'<noscript><p data-{n}="{_attribute(v)}">x</p></noscript>',
    "textarea": lambda n, v: f"<textarea>{n}={_attribute(v)}\nmode=1</textarea>",
    "template {{ }}": lambda n, v: f"<p>{{{{ config.{n} | default('{_attribute(v)}') }}}}</p>",
    "template <% %>": lambda n, v: f'<p><%= {n} = "{_attribute(v)}" %></p>',
    "XML element": lambda n, v: f'<?xml version="1.0"?><c><{n}>{html.escape(v, quote=False)}</{n}></c>',
    "XML CDATA": lambda n, v: f"<c><{n}><![CDATA[{v}]]></{n}></c>",
    "header line": lambda n, v: f"Host: x.example\r\n{n}: {v}\r\nAccept: */*\r\n",
    "Markdown code": lambda n, v: f"Set `{n}` to `{v}` first.",
    "environment file": lambda n, v: f"MODE=live\n{n}={v}\nDEBUG=0\n",
    "YAML": lambda n, v: f"config:\n  {n}: {v}\n  zoom: 3\n",
    "text, before a full stop": lambda n, v: f"<p>The {n} is {_attribute(v)}.</p>",
    "text, before a comma": lambda n, v: f"<p>Use {n} {_attribute(v)}, then reload</p>",
    "text, in parentheses": lambda n, v: f"<p>({n} {_attribute(v)})</p>",
    "text, before an ellipsis beyond ASCII": lambda n, v: f"<p>«{n} {_attribute(v)}…» — ключ</p>",
    "table cell": lambda n, v: f"<tr><th>{n}</th><td>{_attribute(v)}</td></tr>",
    "definition": lambda n, v: f"<dt>{n}:</dt><dd><code>{_attribute(v)}</code></dd>",
    "CSS variable": lambda n, v: f"<style>:root{{--{n}:'{v}';--b:1}}</style>",
}
"""The pieces, by what they are: (name, value) -> text."""


def placed(placement: str, value: Made) -> str:
    """The piece of a page that has this value in it."""
    write = PLACEMENTS[placement]
    if value.parameter and placement == "url, in a path":
        return f"https://files.example/a;{value.name}={value.secret}/1.png"
    if value.parameter and not placement.startswith("url"):
        return write("link", f"https://files.example/a?b=1&{value.name}={value.secret}&z=2")
    return write(value.name, value.text)
