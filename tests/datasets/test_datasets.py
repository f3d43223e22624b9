import functools
import http.server
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from kerastrans import datasets

EMBEDDED = ["air_passengers", "nyc_departures"]
DOWNLOADED = ["etth1", "etth2", "ettm1", "ettm2", "weather", "exchange_rate", "illness"]
PANELS = ["m4_hourly", "m4_weekly", "epf_np", "epf_pjm", "epf_fr", "hospital", "tourism_small"]
PANELS += ["labour"]


def check(name):
    frame, known = datasets.load(name), datasets.info(name)
    assert 1 <= known.season < known.rows
    if known.series is None:
        assert frame.shape == (known.rows, known.channels)
        assert frame.index.freq is not None
        assert len(known.splits) == 3
    else:
        assert frame.columns.tolist() == ["unique_id", "ds", "y", *known.future]
        assert (len(frame), frame["unique_id"].nunique()) == (known.rows, known.series)
        assert frame.notna().all(axis=None)
        steps = frame.groupby("unique_id")["ds"].diff().dropna()
        assert steps.max() < 1.2 * steps.min() or known.frequency in ("monthly", "quarterly")
        assert known.horizon < frame.groupby("unique_id").size().min()
    return frame


def test_names_are_those_of_the_readme():
    assert datasets.names() == EMBEDDED + DOWNLOADED + PANELS


def test_air_passengers_sum_up_to_the_published_series():
    frame = check("air_passengers")
    assert frame["passengers"].sum() == 40363  # mean 280.2986, as in the literature
    assert frame.loc["1960-12-01", "passengers"] == 432


def test_nyc_departures_sum_up_to_the_flights_of_the_year():
    frame = check("nyc_departures")
    # 336,776 flights less 8,255 that were cancelled, less those that left after midnight on
    # 31 December.
    assert 0 <= 336776 - 8255 - int(frame.to_numpy().sum()) < 10
    assert (frame.to_numpy() >= 0).all()


@pytest.mark.data
@pytest.mark.parametrize("name", DOWNLOADED + PANELS)
def test_benchmark_series_load_from_the_data_folder(name):
    check(name)


def test_embedded_series_need_no_data_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("KERASTRANS_DATA_DIR", str(tmp_path))
    check("air_passengers")


def test_data_folder_without_the_file_is_refused(monkeypatch, tmp_path):
    monkeypatch.setenv("KERASTRANS_DATA_DIR", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"does not contain ett/ETTh1\.csv"):
        datasets.load("etth1")


def test_data_folder_with_another_file_is_refused(monkeypatch, tmp_path):
    monkeypatch.setenv("KERASTRANS_DATA_DIR", str(tmp_path))
    (tmp_path / "ett").mkdir()
    (tmp_path / "ett/ETTh1.csv").write_text("date,OT\n")
    with pytest.raises(ValueError, match=r"has sha256 .*, expected f18de3ad"):
        datasets.load("etth1")


def test_a_file_without_a_download_says_what_to_do(monkeypatch):
    monkeypatch.delenv("KERASTRANS_DATA_DIR", raising=False)
    with pytest.raises(FileNotFoundError, match=r"csv cannot be downloaded: put it \(sha"):
        datasets.load("hospital")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ETTh1", "unknown dataset 'ETTh1': did you mean 'etth1'"),
        ("exchange", "did you mean 'exchange_rate'"),
        ("zzz", "unknown dataset 'zzz': known are air_passengers, nyc_departures"),
    ],
)
def test_unknown_names_are_refused(name, message):
    with pytest.raises(ValueError, match=message):
        datasets.load(name)


@pytest.fixture
def server(tmp_path, monkeypatch):
    """A loopback server of tmp_path/site, and a dataset that is downloaded from it."""
    monkeypatch.delenv("KERASTRANS_DATA_DIR", raising=False)
    monkeypatch.setattr("pooch.os_cache", lambda name: tmp_path / "cache")
    (tmp_path / "site").mkdir()
    text = "date,x\n2020-01-01,1\n2020-01-02,2\n2020-01-03,3\n"
    (tmp_path / "site/small.csv").write_text(text)
    handler = functools.partial(
        http.server.SimpleHTTPRequestHandler, directory=str(tmp_path / "site")
    )
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as httpd:
        threading.Thread(target=httpd.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{httpd.server_port}/small.csv"
        httpd.shutdown()


def small_dataset(url, sha256, monkeypatch):
    file = {"path": "small.csv", "url": url, "sha256": sha256}
    known = replace(datasets.info("illness"), files=(file,))
    monkeypatch.setitem(datasets._datasets(), "small", known)


def test_download_is_kept_in_the_cache(server, tmp_path, monkeypatch):
    import hashlib

    digest = hashlib.sha256((tmp_path / "site/small.csv").read_bytes()).hexdigest()
    small_dataset(server, digest, monkeypatch)
    assert datasets.load("small").shape == (3, 1)
    (tmp_path / "site/small.csv").unlink()
    assert datasets.load("small").shape == (3, 1)  # from the cache


def test_download_with_a_wrong_checksum_is_not_kept(server, tmp_path, monkeypatch):
    small_dataset(server, "0" * 64, monkeypatch)
    with pytest.raises(ValueError, match="does not match the known hash"):
        datasets.load("small")
    assert not [p for p in Path(tmp_path / "cache").rglob("*") if p.is_file()]
