"""Processes that read CSV files, so that the process of the model neither waits for nor parses any.

Executors of the standard library, loky and `anyio.to_process` were weighed. The first two cannot
stop one call, and the last one runs the main module again, which for a script that calls `serve`
starts another service.
"""

import asyncio
import contextlib
import json
import os
import pickle
import sys

from kerastrans.serving.requests import RequestError

_START = "import sys; sys.path[:] = {}; from kerastrans.serving.processes import work; work()"
_LENGTH = 8  # bytes of the length before each message
_NICENESS = 5  # of the processes, whose work must not delay forecasts


class Processes:
    """Processes that run functions, and are killed if one takes too long.

    Args:
        count: int, maximum number of processes, which are started when they are needed.
        timeout: float, seconds that a call may wait for a process, and then may take.

    Example:
        >>> async def run():
        ...     processes = Processes(1, timeout=60)
        ...     try:
        ...         return await processes.call(len, "abc")
        ...     finally:
        ...         await processes.close()
        >>> asyncio.run(run())
        3
    """

    def __init__(self, count, timeout):
        self.timeout = timeout
        self.places = asyncio.Semaphore(count)
        self.idle = []

    async def call(self, function, *arguments):
        """Return the result of a function in another process.

        Args:
            function: Function of a module that is light to import.
            *arguments: Its arguments, which can be pickled.

        Raises:
            RequestError: If no process is free in time, or the function takes too long.
            Exception: Any exception that the function raises.
        """
        request = pickle.dumps((function, arguments), pickle.HIGHEST_PROTOCOL)
        try:
            async with asyncio.timeout(self.timeout):
                await self.places.acquire()
        except TimeoutError:
            message = "all processes are reading other CSV files; try again later."
            raise RequestError(message, 503, {"retry-after": f"{self.timeout:.0f}"}) from None
        try:
            is_result, value = await self._exchange(request)
        finally:
            self.places.release()
        if is_result:
            return value
        raise value

    async def _exchange(self, request):
        """Send a request to a process and return its answer; kill the process if there is none."""
        process = None
        try:
            async with asyncio.timeout(self.timeout):
                process = self.idle.pop() if self.idle else await _start()
                process.stdin.write(len(request).to_bytes(_LENGTH) + request)
                await process.stdin.drain()
                length = int.from_bytes(await process.stdout.readexactly(_LENGTH))
                answer = await process.stdout.readexactly(length)
        except TimeoutError:
            message = f"the CSV takes longer than {self.timeout:g} seconds to read."
            raise RequestError(message, 413) from None
        except (ConnectionError, asyncio.IncompleteReadError):
            raise RequestError("the process that read the CSV has ended.", 500) from None
        else:
            self.idle.append(process)
            process = None
        finally:
            if process is not None:
                await _stop(process)
        return pickle.loads(answer)

    async def close(self):
        """Stop the processes that are not running a function."""
        while self.idle:
            await _stop(self.idle.pop())


async def _start():
    """Start a process that answers calls."""
    command = [sys.executable, "-W", "ignore", "-c", _START.format(json.dumps(sys.path))]
    pipe = asyncio.subprocess.PIPE
    # A new group, so that the terminal does not interrupt it together with the service. In a new
    # session Linux would ignore its niceness (sched_autogroup).
    options = {"stdin": pipe, "stdout": pipe, "limit": 2**22, "process_group": 0}
    return await asyncio.create_subprocess_exec(*command, **options)


async def _stop(process):
    """Kill a process."""
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    process.stdin.close()
    await process.wait()


def work():
    """Answer calls from stdin on stdout until stdin is closed."""
    from kerastrans.serving import tables  # noqa: F401, before the first call

    if hasattr(os, "nice"):
        os.nice(_NICENESS)
    calls, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is not an answer
    while length := calls.read(_LENGTH):
        function, arguments = pickle.loads(calls.read(int.from_bytes(length)))
        try:
            answer = True, function(*arguments)
        except Exception as error:
            answer = False, error
        content = pickle.dumps(answer, pickle.HIGHEST_PROTOCOL)
        answers.write(len(content).to_bytes(_LENGTH) + content)
        answers.flush()
