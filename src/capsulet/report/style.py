"""Style sheet of every page, light and dark, and the script that sorts tables and names the squares of a heat map."""

from capsulet import palette
from capsulet.report import svg

PAGE_STYLE = """
* { box-sizing: border-box; } h3 { font-size: 0.95rem; margin: 0 0 6px; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 1120px; margin: 0 auto; padding: 20px 16px 60px; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 8px 0 4px; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 44px 0 8px; padding-top: 14px; border-top: 1px solid var(--line); }
p { margin: 6px 0; max-width: 75ch; } p[dir=auto] { unicode-bidi: plaintext; max-width: none; }
.soft, figcaption { color: var(--soft); font-size: 0.87rem; }
pre { background: var(--panel); border: 1px solid var(--line); border-radius: 6px; padding: 10px 12px; margin: 6px 0;
  font: 13px/1.5 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere; }
.tiles { display: grid; gap: 10px; margin: 18px 0 0; /* one row if it fits, else two: --lack is huge or negative */
  --lack: (var(--n) * 148px - 10px - 100%) * 9999;
  grid-template-columns: repeat(auto-fit, minmax(max(138px, min(100% / var(--half) - 10px, var(--lack))), 1fr)); }
.tiles > div { background: var(--panel); border: 1px solid var(--line); border-radius: 8px; padding: 10px 12px; }
.tiles dt { color: var(--soft); font-size: 0.82rem; } .tiles dd { margin: 0; font-size: 1.35rem; font-weight: 600; }
.tiles small { display: block; color: var(--soft); font-size: 0.78rem; font-weight: 400; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 330px), 1fr)); gap: 22px; }
figure { margin: 0; min-width: 0; } figcaption { margin-top: 4px; }
.chart { display: block; width: 100%; max-width: 520px; height: auto; overflow: visible; }
.heat { display: block; width: 100%; max-width: 640px; height: auto; }
.heat rect:hover { stroke: var(--ink); stroke-width: 0.2; }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: 4px 16px; margin: 0 0 4px; padding: 0;
  font-size: 0.85rem; color: var(--soft); }
.legend i { display: inline-block; width: 14px; height: 3px; margin-right: 6px; vertical-align: middle; }
i.one { background: var(--one); } i.two { background: var(--two); }
.scroll { overflow: auto; max-height: 75vh; border: 1px solid var(--line); border-radius: 8px; max-width: 100%; }
.scroll.fit { width: fit-content; max-height: none; } tr:last-child > * { border-bottom: 0; }
table { border-collapse: collapse; font-size: 0.88rem; font-variant-numeric: tabular-nums; }
.scroll > table { border-collapse: separate; border-spacing: 0; } .full { width: 100%; }
th, td { padding: 4px 10px; text-align: right; border-bottom: 1px solid var(--line); vertical-align: top; }
th:first-child, td:first-child, .words { text-align: left; } th { font-weight: 600; }
thead th { position: sticky; top: 0; background: var(--panel); z-index: 1; white-space: nowrap; }
td:first-child, .words { overflow-wrap: break-word; max-width: 32em; }
.full td:first-child, td.words { min-width: 9em; } th button { all: unset; cursor: pointer; }
th button:focus-visible { outline: 2px solid var(--one); outline-offset: 2px; }
th[aria-sort=ascending] button::after { content: " \\25B2"; }
th[aria-sort=descending] button::after { content: " \\25BC"; }
.share { background: linear-gradient(90deg, color-mix(in srgb, var(--one) 30%, transparent) var(--w), transparent 0); }
.matrix th, .matrix td { padding: 3px 6px; text-align: center; vertical-align: middle; border: 1px solid var(--paper);
  min-width: 2.6em; }
.matrix tbody th { text-align: right; position: sticky; left: 0; background: var(--panel); max-width: 15em;
  overflow: hidden; text-overflow: ellipsis; white-space: nowrap; font-weight: 500; }
.matrix thead th { vertical-align: bottom; font-weight: 500; } .matrix thead th:first-child { left: 0; z-index: 2; }
.matrix thead span { writing-mode: vertical-rl; transform: rotate(180deg); max-height: 14em; overflow: hidden;
  text-overflow: ellipsis; white-space: nowrap; display: inline-block; }
.matrix td { background: color-mix(in srgb, var(--hue) var(--s), var(--paper)); }
.matrix td.right { --hue: var(--one); } .matrix td.wrong { --hue: var(--two); }
.matrix td.deep { color: var(--on-deep); } .few td { min-width: 5em; height: 2.8em; }
.few thead span { writing-mode: horizontal-tb; transform: none; max-width: 7em; vertical-align: bottom; }
.matrix td.none { background: var(--panel); }
.mistakes { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 400px), 1fr)); gap: 12px;
  padding: 0; list-style: none; margin: 12px 0; }
.mistakes li { background: var(--panel); border: 1px solid var(--line); border-radius: 8px; padding: 10px 14px; }
.mistakes p { margin: 6px 0 0; overflow-wrap: anywhere; white-space: pre-line; }
.mistakes b, .facts td { overflow-wrap: anywhere; }
mark { color: inherit; border-radius: 3px; padding: 0 1px;
  background: color-mix(in srgb, var(--hue) var(--s), transparent); border-bottom: 2px solid var(--hue); }
mark.against { border-bottom-style: dashed; } /* the line distinguishes them without colour */
.for { --hue: var(--one); } .against { --hue: var(--two); } .charts + .scroll, .charts + figure { margin-top: 22px; }
output { display: block; min-height: 1.5em; font-size: 0.9rem; overflow-wrap: anywhere; }
article { border-top: 1px solid var(--line); margin-top: 22px; overflow-wrap: anywhere; }
article h2 { border: 0; margin: 0; } article h2 .soft { font-weight: 400; }
article .charts { grid-template-columns: repeat(auto-fit, minmax(min(100%, 240px), max-content)); }
details { margin: 8px 0; } summary { cursor: pointer; color: var(--soft); }
.facts th, .facts td { text-align: left; } .facts th { font-weight: 500; color: var(--soft); white-space: nowrap; }
@media (max-width: 520px) { .matrix tbody th { max-width: 8.5em; white-space: normal;
  overflow-wrap: break-word; font-size: 0.75rem; line-height: 1.2; } th, td { padding: 4px 7px; } }
@media print { .scroll { max-height: none; overflow: visible; } }
""".strip()

LIGHT, DARK = (
    " ".join(f"--{name}: {value};" for name, value in colours.items()) for colours in (palette.LIGHT, palette.DARK)
)
STYLE = f"""
:root {{ color-scheme: light dark; {LIGHT} }}
@media (prefers-color-scheme: dark) {{ :root {{ {DARK} }} }}
{PAGE_STYLE}
{svg.STYLE}
""".strip()

SCRIPT = """
for (const button of document.querySelectorAll("th button")) button.addEventListener("click", () => {
  const head = button.parentElement, body = head.closest("table").tBodies[0], place = head.cellIndex;
  const down = head.getAttribute("aria-sort") !== "descending";
  for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  const value = row => row.cells[place].dataset.value ?? row.cells[place].textContent;
  const number = text => text !== "" && !isNaN(text);
  const compare = (a, b) => number(a) && number(b) ? a - b : a.localeCompare(b);
  const rows = [...body.rows].sort((a, b) => compare(value(a), value(b)) * (down ? -1 : 1));
  body.append(...rows);
});
for (const map of document.querySelectorAll(".heat")) for (const event of ["pointerover", "click"])
  map.addEventListener(event, ({target}) => {
    const title = target.querySelector("title");
    if (title) map.parentElement.querySelector("output").textContent = title.textContent;
  });
""".strip()
