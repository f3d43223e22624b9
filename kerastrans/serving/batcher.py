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

    Example:
        >>> async def double(*requests):
        ...     batcher = Batcher(lambda inputs: {"y": 2 * inputs["x"]}, 8, 64)
        ...     task = asyncio.create_task(batcher.run())
        ...     answers = await asyncio.gather(*map(batcher.submit, requests))
        ...     task.cancel()
        ...     return [answer["y"].tolist() for answer in answers]
        >>> asyncio.run(double({"x": np.array([1])}, {"x": np.array([2, 3])}))
        [[2], [4, 6]]
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

        Args:
            inputs: dict of arrays `(batch, ...)`.

        Returns:
            Dict of arrays `(batch, ...)`.

        Raises:
            OverflowError: too many rows wait.
            Exception: whatever the function raises.
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
            await self._answer(self._next())

    async def _answer(self, batch):
        """Run the function once for these requests, and give each its rows."""
        names = batch[0][0]
        joined = {name: np.concatenate([x[name] for x, _ in batch]) for name in names}
        try:
            outputs = await asyncio.to_thread(self.function, joined)
        except Exception as error:  # whatever it is, it belongs to those who asked
            if len(batch) > 1:  # one of them is at fault, the others are not to suffer
                for request in batch:
                    await self._answer([request])
            elif not batch[0][1].done():
                batch[0][1].set_exception(error)
            return
        first = 0
        for inputs, future in batch:
            rows = slice(first, first + len(next(iter(inputs.values()))))
            first = rows.stop
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
