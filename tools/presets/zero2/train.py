"""Train kerastrans-zero on the pool, in pieces that go on from each other.

    KERAS_BACKEND=jax python -m tools.presets.zero2.train --minutes 60 --windows 8e6

Steps are compiled by JAX. Goes on from `--state` where it was stopped, with the same batches: the
order of the windows depends on the seed and the pass alone. The learning rate warms up, stays, and
falls over all `--windows`; the weights that are written are the mean of those at the end of the
last steps of its fall. `--start` begins with the weights of a checkpoint.
"""

import argparse
import time
from pathlib import Path

import jax
import keras
import numpy as np
from safetensors.numpy import load_file

from kerastrans.models.pretrained import load
from kerastrans.models.pretrained.zero.network import build_network, shorten
from tools.presets.zero import CONFIG, export, quantile_loss, write
from tools.presets.zero2.pool import FOLDER, LENGTHS, ROOT, SOURCES, draw_piece, read_batches
from tools.presets.zero2.schedule import SHARES, WarmUpStayFall

BATCH = 256
RATE = 1e-3
REPORT = 200  # batches
AVERAGED = 8  # snapshots, in the last half of the fall


def main():
    options = parse()
    keras.utils.set_random_seed(options.seed)
    config = {**CONFIG, "paired_lags": options.paired_lags}
    network = build_network(config)
    if options.start:
        network.set_weights(load(options.start).network.get_weights())
    training = Training(network, options)
    training.run()
    training.write_mean()
    export(network, options.output, config)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60, help="of this run")
    parser.add_argument("--windows", type=float, default=8e6, help="of the whole training")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rate", type=float, default=RATE)
    parser.add_argument("--batch", type=int, default=BATCH)
    parser.add_argument("--pieces", type=int, default=64, help="of the pool")
    parser.add_argument("--source", choices=SOURCES, default=SOURCES[0], help="of the pool")
    parser.add_argument("--pool", type=Path, default=FOLDER)
    parser.add_argument("--start", type=Path, help="folder of a checkpoint")
    parser.add_argument("--paired-lags", action="store_true", help="see OctaveLags")
    parser.add_argument("--state", type=Path, default=ROOT / "build" / "zero2" / "state")
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "zero2" / "model")
    backend = keras.backend.backend()
    if backend != "jax":
        parser.error(f"set KERAS_BACKEND=jax, which compiles the steps; it is {backend}.")
    return parser.parse_args()


class Training:
    """The networks of all lengths, which share their layers, and how far they were trained."""

    def __init__(self, network, options):
        self.options, self.network = options, network
        rate = WarmUpStayFall(options.rate, options.windows / options.batch)
        self.optimizer = keras.optimizers.AdamW(rate, weight_decay=1e-3, clipnorm=1.0)
        self.optimizer.build(network.trainable_variables)
        networks = {length: shorten(network, length) for length in LENGTHS[:-1]}
        networks[LENGTHS[-1]] = network
        for one in networks.values():
            # One optimizer knows its variables by their order.
            names = [x.path for x in one.variables]
            if names != [x.path for x in network.trainable_variables]:
                raise RuntimeError(f"the shorter network has other variables: {names}.")
        self.steps = {length: self._compile(one) for length, one in networks.items()}
        self.variables = [*network.variables, *self.optimizer.variables]
        self.sums = [np.zeros(x.shape, "float32") for x in network.variables]
        self.count, self.done, self.before = 0, 0, 0.0
        self.path = options.state / "state.safetensors"
        if self.path.is_file():
            self._read()
        self.values = [x.value for x in self.variables]

    def run(self):
        """Train until the windows or the minutes are over, with a line of the log now and then."""
        started, losses, options = time.process_time(), [], self.options
        begun, total = time.monotonic(), int(options.windows // options.batch) * options.batch
        fall = (1 - SHARES[2] / 2) * total, SHARES[2] / 2 * total / AVERAGED
        for length, inputs, targets in self._batches():
            if self.done >= total:
                break
            self.values, loss = self.steps[length](self.values, inputs, targets)
            losses.append(loss)
            self.done += options.batch
            if self.done > fall[0] + (self.count + 1) * fall[1] - options.batch:
                self._add_snapshot()
            is_over = self.done >= total or time.monotonic() - begun > 60 * options.minutes
            if len(losses) == REPORT or is_over:
                mean = np.mean([float(loss) for loss in losses])  # waits for the device
                seconds = self.before + time.process_time() - started
                self._log(mean, seconds)
                self._write(seconds)
                losses = []
            if is_over:
                break

    def _compile(self, network):
        """Return the function of a step: values of all variables, and a batch, to new values."""
        count = len(network.variables)

        def loss_of(weights, inputs, targets):
            outputs, _ = network.stateless_call(weights, [], inputs, training=True)
            return quantile_loss(targets, outputs)

        def step(values, inputs, targets):
            weights, moments = values[:count], values[count:]
            loss, gradients = jax.value_and_grad(loss_of)(weights, inputs, targets)
            weights, moments = self.optimizer.stateless_apply(moments, gradients, weights)
            return [*weights, *moments], loss

        return jax.jit(step)

    def write_mean(self):
        """Give the network the mean of the snapshots, if there are any."""
        for variable, total in zip(self.network.variables, self.sums, strict=True):
            if self.count:
                variable.assign(total / self.count)

    def _batches(self):
        """Yield batches of pass after pass; those before `done` are skipped."""
        seen, number = 0, 0
        while True:
            pieces = np.random.default_rng((self.options.seed, number))
            for piece in pieces.permutation(self.options.pieces):
                options = self.options
                paths = draw_piece(options.pool, options.source, 0, piece)
                rng = np.random.default_rng((options.seed, number, piece))
                for batch in read_batches([paths], options.batch, rng):
                    if seen >= self.done:
                        yield batch
                    seen += options.batch
            number += 1

    def _add_snapshot(self):
        for total, value in zip(self.sums, self.values, strict=False):  # the network's come first
            total += np.asarray(value)
        self.count += 1

    def _log(self, loss, seconds):
        line = f"{self.done},{loss:.5f},{seconds:.0f},{self.options.source}"
        print(line, flush=True)
        path = self.options.state / "log.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_file():
            path.write_text("windows,loss,cpu_seconds,source\n")
        with path.open("a") as file:
            file.write(line + "\n")

    def _write(self, seconds):
        for variable, value in zip(self.variables, self.values, strict=True):
            variable.assign(value)
        sums = {f"sum {i}": x for i, x in enumerate(self.sums)}
        facts = {"windows": self.done, "count": self.count, "seconds": seconds}
        facts = {name: np.array(x) for name, x in facts.items()}
        write(self.path, self.variables, **sums, **facts)

    def _read(self):
        tensors = load_file(self.path)
        for number, variable in enumerate(self.variables):
            variable.assign(tensors[str(number)])
        self.sums = [tensors[f"sum {i}"].copy() for i in range(len(self.sums))]
        self.done, self.count = int(tensors["windows"]), int(tensors["count"])
        self.before = float(tensors["seconds"])


if __name__ == "__main__":
    main()
