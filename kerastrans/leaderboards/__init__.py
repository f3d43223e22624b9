"""Adapters for leaderboards: the interfaces of `fev` and, for GIFT-Eval, of GluonTS.

They require `pip install ".[leaderboards]"`. `python -m kerastrans.leaderboards` writes a
submission file for fev-bench.
"""
