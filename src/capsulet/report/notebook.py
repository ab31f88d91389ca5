"""Results as HTML in a notebook.

A notebook may be light or dark, independently of the system. So the style takes the colour of the text from the
notebook, and derives the colours of lines and backgrounds from it. All rules are inside `.capsulet`: the rest of the
notebook keeps its own style.
"""

from collections.abc import Callable, Iterable
from typing import Any

from capsulet.palette import middle
from capsulet.report.cards import (
    check_card,
    compression_card,
    drift_card,
    evaluation_card,
    explanation_card,
    training_card,
)
from capsulet.report.style import PAGE_STYLE
from capsulet.report.svg import STYLE
from capsulet.results import Compression, Drift, Evaluation, Explanation, Training

CARDS: dict[str, Callable[[Any], list[str]]] = {
    Evaluation.__name__: evaluation_card,
    Explanation.__name__: explanation_card,
    Training.__name__: training_card,
    Compression.__name__: compression_card,
    Drift.__name__: drift_card,
    "Check": check_card,
}
INK = "color-mix(in srgb, currentColor {}%, transparent)"
NOTEBOOK_STYLE = f"""
.capsulet {{ --ink: currentColor; --soft: {INK.format(70)}; --line: {INK.format(22)}; --panel: {INK.format(6)};
  --paper: transparent; --on-deep: #ffffff; --one: {middle("one")}; --two: {middle("two")};
  max-width: 1000px; font: 14px/1.5 system-ui, sans-serif;
{PAGE_STYLE}
{STYLE}
thead th {{ position: static; }} article {{ border: 0; margin: 0; }} h3 {{ margin: 12px 0 4px; }}
.scroll {{ max-height: 420px; }} dl.tiles {{ margin: 8px 0; }} table {{ margin: 0; }}
}}
""".strip()


def notebook_html(result: Any) -> str:
    """Return a result as HTML."""
    return styled(CARDS[type(result).__name__](result))


def styled(parts: Iterable[str]) -> str:
    """Return HTML with its style."""
    body = "\n".join(filter(None, parts))
    return f'<div class="capsulet"><style>{NOTEBOOK_STYLE}</style>\n{body}\n</div>'
