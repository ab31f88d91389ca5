"""HTML kit: the shell of a page, tables, figures and highlighted texts.

A page needs no network. Its content security policy allows nothing but its own style and its own script, which is named
by its digest: a text that contains a script stays a text. All words that come from outside go through `escape`.

Texts and labels may be written from right to left. A text has the direction of its first letter. A label or a word is a
<bdi> element, whose direction does not reorder what is around it. Direction control characters are shown as escapes.
"""

import base64
import hashlib
import html
from collections.abc import Callable, Iterable, Mapping, Sequence

from capsulet.palette import FAINT
from capsulet.report.style import STYLE
from capsulet.results import TokenContribution
from capsulet.text.visible import visible

# 'unsafe-inline': bars and marks have their widths and strengths in style attributes, which digests do not cover
POLICY = "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'unsafe-inline'"


def escape(words: str) -> str:
    """Return words as HTML, with control characters as escapes, such as \\u202e."""
    return html.escape(visible(words, keep="\t\n\r"))


def document(title: str, parts: Iterable[str], script: str = "") -> str:
    """Return a whole page."""
    policy = POLICY
    if script:
        policy += f"; script-src 'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
        script = f"<script>{script}</script>\n"
    body = "\n".join(filter(None, parts))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{STYLE}\n</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n</main>\n{script}</body>\n</html>\n"
    )


def section(title: str, *parts: str) -> str:
    """Return a part of the page under its heading."""
    return f"<section>\n<h2>{escape(title)}</h2>\n" + "\n".join(filter(None, parts)) + "\n</section>"


def figure(title: str, drawing: str, caption: str = "") -> str:
    """Return a chart or a table with its title and its caption."""
    below = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    return f"<figure><h3>{escape(title)}</h3>{drawing}{below}</figure>"


def columns(*parts: str) -> str:
    """Return parts side by side, where the page is wide enough."""
    return f'<div class="charts">{"".join(parts)}</div>'


def named(label: str) -> str:
    """Return a label that may be broken at its underscores."""
    return f"<bdi>{escape(label).replace('_', '_<wbr>')}</bdi>"


def bdi(words: str) -> str:
    """Return words as a <bdi> element, with their own writing direction."""
    return f"<bdi>{escape(words)}</bdi>"


def paragraph(marked: str) -> str:
    """Return a text that `highlighted` has marked, in its own writing direction."""
    return f'<p dir="auto">{marked}</p>'


def soft(words: str) -> str:
    """Return a remark."""
    return f'<p class="soft">{escape(words)}</p>'


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """Return a table of names and values."""
    rows = "".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in pairs)
    return f'<table class="facts">{rows}</table>'


def tiles(figures: Iterable[tuple[str, str, str]]) -> str:
    """Return figures side by side, or in two rows of nearly equal length: name, value and remark of each."""
    shown = [
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}<small>{escape(rest)}</small></dd></div>"
        for name, value, rest in figures
    ]
    return f'<dl class="tiles" style="--n:{len(shown)};--half:{-(-len(shown) // 2)}">{"".join(shown)}</dl>'


def table(
    names: Sequence[str], rows: Iterable[Iterable[str]], kind: str = "", words: str = "", sortable: bool = False
) -> str:
    """Return a table of `<td>` elements; `words` names a column of words. A press on a sortable column's name sorts."""
    before, after = ('<button type="button">', "</button>") if sortable else ("", "")
    heads = (f"<th{' class=words' * (name == words)}>{before}{escape(name)}{after}</th>" for name in names)
    body = "".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    return f'<table class="{kind}"><thead><tr>{"".join(heads)}</tr></thead><tbody>{body}</tbody></table>'


def scrolled(table: str, kind: str = "") -> str:
    """Return a table in a frame in which it can be scrolled; the kind `fit` is no wider than the table."""
    return f'<div class="scroll {kind}">{table}</div>'


def cell(words: str) -> str:
    """Return a cell of words or of a written number."""
    return f"<td>{escape(words)}</td>"


def label_cell(label: str, kind: str = "", more: str = "") -> str:
    """Return a cell with a label and more words; the kind `words` is aligned to the left."""
    return f"<td{f' class={kind}' if kind else ''}>{named(label) if label else ''}{escape(more)}</td>"


def words_cell(*words: str) -> str:
    """Return a cell of words, each with its own writing direction."""
    return f"<td>{' '.join(map(bdi, words))}</td>"


def number_cell(value: float, written: str = "") -> str:
    """Return a cell with a number that is sorted as a number; a whole number is written with its thousands."""
    return f'<td data-value="{value}">{written or f"{value:,}"}</td>'


def share_cell(value: float) -> str:
    """Return a cell with a share in percent and a bar behind it."""
    return f'<td class="share" style="--w:{100 * value:.1f}%" data-value="{value:.6f}">{100 * value:.1f}</td>'


def bars(first: str, second: str, values: Mapping[str, int], written: Callable[[int], str]) -> str:
    """Return a table of amounts with bars behind them, and their sum."""
    largest = max(values.values(), default=1) or 1
    rows = [
        (cell(name), f'<td class="share" style="--w:{100 * value / largest:.1f}%">{written(value)}</td>')
        for name, value in values.items()
    ]
    return f"<div>{table((first, second), [*rows, (cell('all'), cell(written(sum(values.values()))))], 'full')}</div>"


def highlighted(text: str, tokens: Sequence[TokenContribution], excerpt: int | None = None) -> str:
    """Return a text with its words marked by their contributions.

    With `excerpt`, a longer text is cut to this number of characters around the word with the largest contribution.
    """
    largest = max((abs(token.contribution) for token in tokens), default=0.0) or 1.0
    start, size = 0, len(text) if excerpt is None else excerpt
    if len(text) > size:
        strongest = max(tokens, key=lambda token: token.contribution)
        start = min(max(strongest.start - size // 2, 0), len(text) - size)
    end = min(start + size, len(text))
    parts, place = ["…" if start else ""], start
    for token in tokens:
        strength = abs(token.contribution) / largest
        if place <= token.start < token.end <= end and strength >= FAINT:
            kind = "for" if token.contribution > 0 else "against"
            mark = f'<mark class="{kind}" style="--s:{round(60 * strength)}%" title="{token.contribution:+.3f}">'
            parts.append(f"{escape(text[place : token.start])}{mark}{escape(text[token.start : token.end])}</mark>")
            place = token.end
    return "".join([*parts, escape(text[place:end]), "…" if end < len(text) else ""])


def plain_count(value: int) -> str:
    """Write 12,345 as it is and 1,234,567 as 1.23 M."""
    return f"{value:,}" if value < 1_000_000 else f"{value / 1e6:,.2f} M"


def plain_bytes(value: float) -> str:
    """Write bytes in a unit that suits them."""
    for unit in ("bytes", "kB", "MB"):
        if value < 1000:
            return f"{value:,.0f} {unit}" if unit == "bytes" else f"{value:,.3g} {unit}"
        value /= 1000
    return f"{value:,.3g} GB"
