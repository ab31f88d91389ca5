"""Boxes, arrows and words as one SVG file, light or dark as the reader's screen is."""

from __future__ import annotations

from html import escape

from capsulet.report.svg import DARK, LIGHT

STYLE = """
text { fill: var(--ink); font: 14px system-ui, sans-serif; text-anchor: middle; }
.small { fill: var(--soft); font-size: 12px; } .left { text-anchor: start; } .bold { font-weight: 600; }
.paper { fill: var(--paper); } .box { fill: var(--panel); stroke: var(--line); stroke-width: 1.5; }
.one { fill: var(--one); fill-opacity: 0.16; stroke: var(--one); }
.two { fill: var(--two); fill-opacity: 0.16; stroke: var(--two); }
.bar.one { fill-opacity: 0.75; stroke: none; } .bar.two { fill-opacity: 0.75; stroke: none; }
.arrow { stroke: var(--soft); stroke-width: 1.5; fill: none; marker-end: url(#head); } #head path { fill: var(--soft); }
.curve { stroke: var(--one); stroke-width: 2; fill: none; }
.dashed { stroke: var(--soft); stroke-dasharray: 4 4; fill: none; }
""".strip()


def colours(values: dict[str, str]) -> str:
    """Colours as CSS variables."""
    return "svg { " + " ".join(f"--{name}: {value};" for name, value in values.items()) + " }"


class Drawing:
    """A drawing of a given size with a title that is read aloud."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self.width, self.height, self.title = width, height, title
        self.parts = list[str]()

    def box(self, x: float, y: float, width: float, height: float, *lines: str, kind: str = "") -> Drawing:
        """A box whose first line is bold and whose other lines are small."""
        self.parts.append(
            f'<rect class="box {kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="6"/>'
        )
        middle = y + height / 2 + 5 - 8 * (len(lines) - 1)
        for number, words in enumerate(lines):
            self.text(x + width / 2, middle + 16 * number, words, "small" if number else "bold")
        return self

    def text(self, x: float, y: float, words: str, kind: str = "") -> Drawing:
        """Words, centred unless `kind` has `left`."""
        self.parts.append(f'<text class="{kind}" x="{x:g}" y="{y:g}">{escape(words)}</text>')
        return self

    def arrow(self, *points: float) -> Drawing:
        """An arrow along points x1, y1, x2, y2, …"""
        pairs = [f"{x:g} {y:g}" for x, y in zip(points[::2], points[1::2], strict=True)]
        self.parts.append(f'<path class="arrow" d="M{" L".join(pairs)}"/>')
        return self

    def bar(self, x: float, y: float, width: float, height: float, kind: str = "one") -> Drawing:
        """A filled bar."""
        self.parts.append(
            f'<rect class="bar {kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="2"/>'
        )
        return self

    def path(self, shape: str, kind: str = "curve") -> Drawing:
        """A line in the notation of SVG."""
        self.parts.append(f'<path class="{kind}" d="{shape}"/>')
        return self

    def svg(self) -> str:
        """The file."""
        dark = f"@media (prefers-color-scheme: dark) {{ {colours(DARK)} }}"
        head = '<marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        size = f'width="{self.width}" height="{self.height}" viewBox="0 0 {self.width} {self.height}"'
        return "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">', f"<title>{escape(self.title)}</title>",
            f"<style>{colours(LIGHT)} {dark}\n{STYLE}</style>",
            f'<defs>{head}<path d="M0 0 L8 4 L0 8 Z"/></marker></defs>',
            f'<rect class="paper" width="{self.width}" height="{self.height}" rx="8"/>', *self.parts, "</svg>", "",
        ])  # fmt: skip
