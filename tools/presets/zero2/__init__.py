"""Version 2 of kerastrans-zero: families of made series, a pool of windows, the training.

python -m tools.presets.zero2.pool --pieces 16
KERAS_BACKEND=jax python -m tools.presets.zero2.train --minutes 60
KERAS_BACKEND=jax python -m benchmarks.accuracy.zero_validation --model build/zero2/model
"""
