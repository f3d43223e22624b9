"""Adapters for leaderboards: the interfaces of `fev` and, for GIFT-Eval, of GluonTS.

They require `pip install ".[leaderboards]"`. In the repository,
`python -m benchmarks.accuracy.fev_submission` writes a submission file for fev-bench.
"""
