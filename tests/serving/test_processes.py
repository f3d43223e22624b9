"""Processes that read CSV files: they are kept, and killed if they take too long."""

import asyncio

import pytest

from kerastrans.serving.processes import Processes
from kerastrans.serving.requests import RequestError
from tests.helpers import csv_requests


def run(function):
    """The result of an asynchronous function of `Processes`."""

    async def with_processes():
        processes = Processes(1, timeout=60)
        try:
            return await function(processes)
        finally:
            await processes.close()

    return asyncio.run(with_processes())


async def refused(processes, function):
    with pytest.raises(RequestError) as error:
        await processes.call(function)
    return error.value.status, str(error.value)


def test_a_process_is_kept_until_it_hangs_or_ends():
    async def use(processes):
        first = await processes.call(csv_requests.pid)
        assert await refused(processes, csv_requests.refuse) == (413, "too large")
        assert await processes.call(csv_requests.pid) == first
        processes.timeout = 0.01
        hanging = asyncio.create_task(refused(processes, csv_requests.hang))
        await asyncio.sleep(0)
        status, busy = await refused(processes, csv_requests.pid)
        assert status == 503
        assert busy == "all processes are reading other CSV files; try again later."
        assert await hanging == (413, "the CSV takes longer than 0.01 seconds to read.")
        processes.timeout = 60
        second = await processes.call(csv_requests.pid)
        assert second != first
        status, ended = await refused(processes, csv_requests.end)
        assert (status, ended) == (500, "the process that read the CSV has ended.")
        assert processes.idle == []

    run(use)


def test_the_process_of_an_abandoned_call_is_killed():
    async def use(processes):
        await processes.call(csv_requests.pid)
        process = processes.idle[0]
        task = asyncio.create_task(processes.call(csv_requests.hang))
        while processes.idle:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert process.returncode is not None

    run(use)
