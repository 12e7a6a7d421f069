"""Measurements, each comparing in one run. See docs/benchmarks.md."""
