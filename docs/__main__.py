"""Writes every generated part of the documentation: `python -m docs`."""

from __future__ import annotations

from docs import (
    api,
    commands,
    curve,
    drift,
    frontier,
    hard_files,
    labels,
    migration,
    options,
    paper,
    peers,
    results,
    serve,
    small,
    speed,
    trust,
    tuning,
)

GENERATORS = (
    options, commands, api, results, speed, peers, paper, labels, small, trust, drift, curve, hard_files, frontier,
    migration, serve, tuning,
)  # fmt: skip


def main() -> None:
    """Run every generator."""
    for generator in GENERATORS:
        generator.write()


if __name__ == "__main__":
    main()
