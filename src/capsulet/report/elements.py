"""Pieces that every part of a page is made of; every word that comes from outside goes through `escape`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape


def section(title: str, *parts: str) -> str:
    """A part of the page under its heading."""
    return f"<section>\n<h2>{escape(title)}</h2>\n" + "\n".join(filter(None, parts)) + "\n</section>"


def figure(title: str, drawing: str, caption: str) -> str:
    """A chart with what it says."""
    return f"<figure><h3>{escape(title)}</h3>{drawing}<figcaption>{escape(caption)}</figcaption></figure>"


def named(label: str) -> str:
    """A label that may be broken where its words are joined."""
    return escape(label).replace("_", "_<wbr>")


def soft(words: str) -> str:
    """A remark."""
    return f'<p class="soft">{escape(words)}</p>'


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """Names and values below each other."""
    rows = "".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in pairs)
    return f'<table class="facts">{rows}</table>'


def head(names: Sequence[str], last: str = "") -> str:
    """Column names that sort by their column when pressed; `last` is the class of the last one."""
    kinds = ["" for _ in names[1:]] + [f' class="{last}"' if last else ""]
    pairs = zip(names, kinds, strict=True)
    cells = "".join(f'<th{kind}><button type="button">{escape(name)}</button></th>' for name, kind in pairs)
    return f"<thead><tr>{cells}</tr></thead>"


def count_cell(value: int) -> str:
    """A number that sorts as one."""
    return f'<td data-value="{value}">{value:,}</td>'


def share_cell(value: float) -> str:
    """A share with a bar behind it."""
    return f'<td class="share" style="--w:{100 * value:.1f}%" data-value="{value:.6f}">{100 * value:.1f}</td>'


def bars(first: str, second: str, values: Mapping[str, int], written: Callable[[int], str]) -> str:
    """A table of amounts with bars behind them."""
    largest = max(values.values(), default=1) or 1
    rows = "".join(
        f'<tr><td>{escape(name)}</td><td class="share" style="--w:{100 * value / largest:.1f}%">'
        f"{written(value)}</td></tr>"
        for name, value in values.items()
    )
    total = f"<tr><td>all</td><td>{written(sum(values.values()))}</td></tr>"
    names = f"<thead><tr><th>{escape(first)}</th><th>{escape(second)}</th></tr></thead>"
    return f'<div><table class="full">{names}<tbody>{rows}{total}</tbody></table></div>'


def plain_count(value: int) -> str:
    """12,345 as it is, 1,234,567 as 1.23 M."""
    return f"{value:,}" if value < 1_000_000 else f"{value / 1e6:,.2f} M"


def plain_bytes(value: float) -> str:
    """Bytes in a unit that suits them."""
    for unit in ("bytes", "kB", "MB"):
        if value < 1000:
            return f"{value:,.0f} {unit}" if unit == "bytes" else f"{value:,.3g} {unit}"
        value /= 1000
    return f"{value:,.3g} GB"
