"""Packages of a release: source archive, wheels for every system, their checks and smoke tests."""
