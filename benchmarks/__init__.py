"""Benchmarks: each figure is a ratio against a named rival, measured in the same run."""
