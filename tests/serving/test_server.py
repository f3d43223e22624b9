"""The server as a process: its socket, and its page in a real browser."""

import socket
import subprocess
import sys

import httpx
import pytest

from kerastrans import datasets, presets
from kerastrans.serving import server
from tools.checks import chromium

PRESET = "nhits_nyc_departures_24"


@pytest.fixture(scope="module")
def address():
    """Of a server of its own process, `kerastrans serve`."""
    command = [sys.executable, "-m", "kerastrans.cli.main", "serve", PRESET, "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    line = process.stdout.readline()  # printed once it listens
    assert line.startswith(f"kerastrans serves {PRESET} on http://127.0.0.1:")
    yield line.split()[-1]
    process.terminate()
    assert process.wait(30) in (0, -15)


def test_it_answers_on_loopback(address):
    assert httpx.get(f"{address}/health", timeout=60).json() == {"status": "ok"}
    facts = httpx.get(f"{address}/v1/models/{PRESET}/metadata").json()["metadata"]
    assert facts["channels"] == presets.card(PRESET)["data"]["channels"]


def test_a_port_in_use_is_said_in_one_line():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match=f"cannot listen on 127.0.0.1:{port}: .* another port"):
            server.serve(presets.load(PRESET), PRESET, port=port)


@pytest.mark.parametrize("host", ["192.0.2.1", "ä" * 70])  # of no machine, and not a name
def test_an_address_of_another_machine_is_said_in_one_line(host):
    with pytest.raises(OSError, match=f"cannot listen on {host}:0: .*; choose another host"):
        server._listen(host, 0)


def test_names_of_this_machine_are_accepted_in_addition_to_its_address(monkeypatch):
    class StopError(Exception):
        pass

    def create(forecaster, name, **settings):
        raise StopError(settings)

    monkeypatch.setattr(server, "create_app", create)
    monkeypatch.setenv("KERASTRANS_HOSTS", "a.svc,b.lan")
    with pytest.raises(StopError) as error:
        server.serve(None, "m", port=0, hosts=["box.lan"], max_series=3)
    hosts = ("127.0.0.1", "box.lan", "a.svc", "b.lan")
    assert error.value.args == ({"hosts": hosts, "max_series": 3},)


@pytest.mark.slow
@pytest.mark.skipif(chromium.missing() is not None, reason=str(chromium.missing()))
def test_the_page_draws_the_forecast_of_a_pasted_csv(address, tmp_path):
    csv = datasets.load("nyc_departures")[-200:].to_csv()
    with chromium.open_page(address) as page:
        page.get_by_text("EWR, JFK, LGA").wait_for()
        page.get_by_label("CSV").fill("no table")
        page.get_by_role("button").click()
        page.get_by_text("has no date column").wait_for()
        page.get_by_label("CSV").fill(csv)
        page.get_by_role("button").click()
        page.locator("figure").nth(2).wait_for()
        assert page.locator("figcaption").all_inner_texts() == ["EWR", "JFK", "LGA"]
        assert page.locator("polygon.band").count() == 6
        drawn = page.locator("polyline.forecast").first.get_attribute("points").split()
        assert len(drawn) == 25  # the last value, and 24 hours
        assert page.get_by_role("alert").inner_text() == ""
        page.screenshot(path=tmp_path / "page.png", full_page=True)
