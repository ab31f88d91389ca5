"""Build the site: `python -m docs.site`. It fails on any warning and on any address that a browser would load."""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

from docs.pages import DOCS, ROOT
from docs.site.navigation import navigation, toml
from docs.site.notebook import ESCAPES
from docs.site.stage import stage

# attributes that make a browser load something, and addresses in style sheets
LOADED = re.compile(
    r"""<(?:script|img|iframe|source|video|audio)\b[^>]*?\ssrc=["']?(https?:|//)[^"'\s>]*"""
    r"""|<link\b(?=[^>]*rel=["']?(?:stylesheet|preload|preconnect|icon|modulepreload))[^>]*?href=["']?(https?:|//)[^"'\s>]*"""
    r"""|url\(["']?(https?:|//)[^)]*\)|@import\s+["'](https?:|//)"""
)


def build(folder: Path) -> Path:
    """Build the site in a folder and return the folder of its pages."""
    shutil.rmtree(folder, ignore_errors=True)
    stage(folder / "pages")
    config = (DOCS / "site" / "zensical.toml").read_text(encoding="utf-8")
    menu = toml(navigation(DOCS / "README.md"))
    config = config.replace("[project]\n", f"[project]\nnav = {menu}\n", 1)
    (folder / "zensical.toml").write_text(config, encoding="utf-8")
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    said = ESCAPES.sub("", done.stdout + done.stderr).split("Traceback")[0]
    if done.returncode or re.search(r"\bwarning\b", said, re.IGNORECASE):
        raise SystemExit(f"docs: the site has problems:\n{said}")
    return folder / "site"


def loaded_from_elsewhere(site: Path) -> list[str]:
    """Addresses on other servers that a page of the site would load."""
    found = []
    for path in sorted(site.rglob("*")):
        if path.suffix in {".html", ".css"}:
            text = path.read_text(encoding="utf-8")
            found += [f"{path.relative_to(site)}: {match[0]}" for match in LOADED.finditer(text)]
    return found


def main() -> int:
    """Build and check."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "docs", metavar="DIR", help="default: build/docs")
    site = build(parser.parse_args().out.resolve())
    if found := loaded_from_elsewhere(site):
        raise SystemExit("docs: the site would load from other servers:\n" + "\n".join(found[:20]))
    sys.stdout.write(f"{site}: {len(list(site.rglob('*.html')))} pages\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
