"""Concurrent requests made one call of the model."""

import asyncio

import numpy as np


class Batcher:
    """Runs a function on the inputs of all the requests that wait, joined along their first axis.

    While the function runs, in a thread, new requests gather: nobody waits for a clock.

    Args:
        function: from a dict of arrays `(batch, ...)` to a dict of arrays `(batch, ...)`.
        max_batch: int, rows in one call.
        max_waiting: int, rows that may wait; `submit` refuses more.
    """

    def __init__(self, function, max_batch, max_waiting):
        self.function = function
        self.max_batch = max_batch
        self.max_waiting = max_waiting
        self.waiting = []  # (inputs, future)
        self.rows = 0
        self.arrived = asyncio.Event()

    async def submit(self, inputs):
        """The function's outputs of these inputs.

        Raises:
            OverflowError: too many rows wait. Whatever the function raises.
        """
        count = len(next(iter(inputs.values())))
        if self.rows + count > self.max_waiting:
            raise OverflowError(f"{self.rows} windows wait already, at most {self.max_waiting} do.")
        future = asyncio.get_running_loop().create_future()
        self.waiting.append((inputs, future))
        self.rows += count
        self.arrived.set()
        return await future

    async def run(self):
        """Serve for ever; to be cancelled."""
        while True:
            await self.arrived.wait()
            batch = self._next()
            names = batch[0][0]
            joined = {name: np.concatenate([x[name] for x, _ in batch]) for name in names}
            try:
                outputs = await asyncio.to_thread(self.function, joined)
            except Exception as error:  # whatever it is, it belongs to those who asked
                for _, future in batch:
                    if not future.done():
                        future.set_exception(error)
                continue
            start = 0
            for inputs, future in batch:
                rows = slice(start, start + len(next(iter(inputs.values()))))
                start = rows.stop
                if not future.done():  # its client may be gone
                    future.set_result({name: values[rows] for name, values in outputs.items()})

    def _next(self):
        """As many of the requests that wait as one call takes, and at least one."""
        taken, rows = [], 0
        while self.waiting:
            count = len(next(iter(self.waiting[0][0].values())))
            if taken and rows + count > self.max_batch:
                break
            taken.append(self.waiting.pop(0))
            rows += count
        self.rows -= rows
        if not self.waiting:
            self.arrived.clear()
        return taken
