"""The tables of README.md and docs/, from benchmarks/results."""
