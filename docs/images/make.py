"""Make the pictures of the documentation: `python -m docs.images.make [FOLDER]`.

Plots are drawn from the results files that exist; they need matplotlib. With FOLDER, which has the `model` and
`model.report.html` of the tutorial, the pictures of the README and the tutorial are made too; they need Chromium and
Pillow, and that of the page needs Node and js/dist/.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from benchmarks import curve_plot, frontier_points, record
from capsulet.cli import main, output

if TYPE_CHECKING:
    from PIL import Image

IMAGES = Path(__file__).parent
TEXT = "Run the coroutine until it is done, then close the event loop."
PAGE_TEXT = "Log a warning if the event loop is closed while a message of the queue is read."
COLUMNS = 98  # of the terminal
PLOTS = {"curve": ("learning-curve.svg", curve_plot.draw), "frontier": ("frontier.svg", frontier_points.draw)}


def draw_plots(folder: Path = IMAGES) -> list[Path]:
    """Draw the plots of the results files that exist."""
    return [draw(runs, folder / name) for results, (name, draw) in PLOTS.items() if (runs := record.stored(results))]


def photograph(page: Path, picture: Path, width: int, height: int) -> Image.Image:
    """Take a picture of a page, without the transparent border."""
    from PIL import Image

    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--default-background-color=00000000"]
    size = f"--window-size={width},{height}"
    command = ["chromium", *flags, size, f"--screenshot={picture}", page.resolve().as_uri()]
    subprocess.run(command, check=True, capture_output=True)
    image = Image.open(picture)
    return image.crop(image.getbbox())


def save(image: Image.Image, name: str, scale: float) -> None:
    """Write a picture with few colours, so that the file is small."""
    from PIL import Image

    small = image.convert("RGB").resize((int(scale * image.width), int(scale * image.height)), Image.Resampling.LANCZOS)
    few = small.quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    few.save(IMAGES / name, optimize=True)


class WrappingConsole(Console):
    """A console that wraps long lines, as a terminal does; an SVG would cut them off."""

    def print(self, *objects: Any, **options: Any) -> None:
        """Print with line breaks at the width of the console."""
        super().print(*objects, **{**options, "soft_wrap": False})


def draw_explanation(page: Path) -> None:
    """Write the terminal output of `capsulet explain` as an SVG."""
    console = WrappingConsole(
        record=True, width=COLUMNS, force_terminal=True, color_system="truecolor", file=io.StringIO()
    )
    output.console = lambda table=False: console
    console.print(f'$ capsulet explain model --text "{TEXT}"', highlight=False, markup=False)
    main.main(["explain", "model", "--text", TEXT])
    console.save_svg(str(page), title="capsulet explain")


def photograph_page(model: Path, picture: Path) -> None:
    """Make the picture of the page with a model."""
    from PIL import Image

    subprocess.run(["node", IMAGES / "page.mjs", model, PAGE_TEXT, picture], check=True)
    save(Image.open(picture), "page.png", 0.5)


def make_pictures(folder: str) -> None:
    """Make the pictures of the README and the tutorial."""
    os.chdir(folder)
    with tempfile.TemporaryDirectory() as scratch:
        page, picture = Path(scratch) / "explain.svg", Path(scratch) / "picture.png"
        draw_explanation(page)
        save(photograph(page, picture, 1220, 520), "explain.png", 0.75)
        save(photograph(Path("model.report.html"), picture, 1000, 1440), "report.png", 0.8)
        photograph_page(Path("model") / "model.safetensors", picture)


if __name__ == "__main__":
    draw_plots()
    if sys.argv[1:]:
        make_pictures(sys.argv[1])
