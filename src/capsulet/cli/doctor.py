"""Check the installation: Python, compiled parts, extras, threads, and a prediction with a tiny model.

The exit status is 1 if something is broken. Each problem comes with one line that says what to do.

examples:
  capsulet doctor
  capsulet doctor --json
"""

from __future__ import annotations

from capsulet.cli.options import JSON
from capsulet.cli.output import print_json, show

TYPE_CHECKING = False  # as in typing, which takes long to import
if TYPE_CHECKING:
    import argparse

ARGUMENTS = {**JSON}


def run(arguments: argparse.Namespace) -> int:
    """Run `capsulet doctor`; return the exit status."""
    from capsulet.diagnosis.checks import diagnose

    findings = diagnose()
    broken = [finding for finding in findings if finding.problem]
    status = arguments.status = 1 if broken else 0  # also if the reader closes the output
    if arguments.json:
        print_json({"ok": not broken, "checks": findings})
        return status
    width = max(len(finding.name) for finding in findings)
    for finding in findings:
        mark, style = ("✗", "red") if finding.problem else ("✓", "green")
        show((mark, style), f" {finding.name:<{width}}  {finding.value}")
        if finding.problem:
            show(f"  {'':<{width}}  {finding.problem}")
            show(f"  {'':<{width}}  → {finding.remedy}")
    show(f"{len(broken)} of {len(findings)} checks found a problem" if broken else "no problem found")
    return status
