"""Batching of concurrent requests into single calls of the model."""

import asyncio

import numpy as np


class Batcher:
    """Runs a function on the inputs of all waiting requests, joined along their first axis.

    While the function runs in a thread, new requests are collected; no request waits for a timer.

    Args:
        function: Function from a dict of arrays `(batch, ...)` to a dict of arrays `(batch, ...)`.
        max_batch: int, maximum number of rows in one call.
        max_waiting: int, maximum number of rows that wait; `submit` refuses more.

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
        self.waiting = []  # tuples (inputs, future)
        self.rows = 0
        self.arrived = asyncio.Event()

    async def submit(self, inputs):
        """Wait for the function's outputs for these inputs.

        Args:
            inputs: Dict of arrays `(batch, ...)`.

        Returns:
            Dict of arrays `(batch, ...)`.

        Raises:
            OverflowError: If too many rows wait.
            Exception: Any exception that the function raises.
        """
        count = len(next(iter(inputs.values())))
        if self.rows + count > self.max_waiting:
            raise OverflowError(
                f"{self.rows} windows are already waiting, the limit is {self.max_waiting}."
            )
        future = asyncio.get_running_loop().create_future()
        self.waiting.append((inputs, future))
        self.rows += count
        self.arrived.set()
        return await future

    async def run(self):
        """Answer requests until the task is cancelled."""
        while True:
            await self.arrived.wait()
            await self._answer(self._next())

    async def _answer(self, batch):
        """Run the function once for these requests, and return to each request its rows."""
        names = batch[0][0]
        joined = {name: np.concatenate([x[name] for x, _ in batch]) for name in names}
        try:
            outputs = await asyncio.to_thread(self.function, joined)
        except Exception as error:  # passed on to the request that caused it
            if len(batch) > 1:  # run each request separately, so that only the faulty one fails
                for request in batch:
                    await self._answer([request])
            elif not batch[0][1].done():
                batch[0][1].set_exception(error)
            return
        first = 0
        for inputs, future in batch:
            rows = slice(first, first + len(next(iter(inputs.values()))))
            first = rows.stop
            if not future.done():  # the client may have disconnected
                future.set_result({name: values[rows] for name, values in outputs.items()})

    def _next(self):
        """Remove and return as many waiting requests as fit into one call, at least one."""
        batch, rows = [], 0
        while self.waiting:
            count = len(next(iter(self.waiting[0][0].values())))
            if batch and rows + count > self.max_batch:
                break
            batch.append(self.waiting.pop(0))
            rows += count
        self.rows -= rows
        if not self.waiting:
            self.arrived.clear()
        return batch
