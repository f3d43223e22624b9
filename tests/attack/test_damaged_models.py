"""Damaged `.keras` files: each flipped byte and each truncation is noticed, or does not matter."""

import json
import re

import keras
import numpy as np
import pytest

from kerastrans.utils import model_files
from kerastrans.utils.files import load_model
from tests.attack.model_file import WEIGHTS, refused, write


def _loads_the_same_or_is_refused(path, expected):
    model, message = None, ""
    try:
        model = load_model(path)
    except ValueError as error:
        message = str(error)
    assert "\n" not in message
    if model is None:
        return False
    for weight, value in zip(model.get_weights(), expected, strict=True):
        np.testing.assert_array_equal(weight, value)
    return True


def _flipped(members, tmp_path, monkeypatch, offsets_of, mask):
    """How many of a file's copies, each with one byte changed, are refused."""
    path = write(tmp_path / "whole.keras", members)
    content = path.read_bytes()
    # What is after the checks is Keras's alone, and takes most of the time.
    built = keras.saving.load_model(path)
    monkeypatch.setattr(keras.saving, "load_model", lambda *args, **kwargs: built)
    offsets = offsets_of(content)
    count = 0
    for offset in offsets:
        spoilt = bytearray(content)
        spoilt[offset] ^= mask
        path.write_bytes(spoilt)
        count += not _loads_the_same_or_is_refused(path, built.get_weights())
    return count, len(offsets)


def test_every_byte_of_the_headers_flipped(members, tmp_path, monkeypatch):
    def headers(content):
        found = [m.start() + i for m in re.finditer(rb"PK\x03\x04", content) for i in range(46)]
        return found + list(range(content.index(b"PK\x01\x02"), len(content)))

    model = model_files._symbolic(json.loads(members["config.json"]))
    monkeypatch.setattr(model_files, "_symbolic", lambda config: model)
    refused_count, tried = _flipped(members, tmp_path, monkeypatch, headers, 0xFF)
    assert tried > 300
    assert refused_count > 0.4 * tried  # times, versions and attributes do not matter


def test_every_byte_of_the_content_flipped_is_noticed(members, tmp_path, monkeypatch):
    def content_bytes(content):
        end = content.index(b"PK\x01\x02")
        headers = {m.start() + i for m in re.finditer(rb"PK\x03\x04", content) for i in range(60)}
        return [i for i in range(0, end, 97) if i not in headers]

    refused_count, tried = _flipped(members, tmp_path, monkeypatch, content_bytes, 0x01)
    assert refused_count == tried > 100


@pytest.mark.slow
def test_every_byte_of_the_weights_header_changed_inside_a_sound_archive(members, tmp_path):
    """The checksums are right, what HDF5 says of itself is not."""
    model = load_model(write(tmp_path / "m.keras", members))
    expected = model.get_weights()
    for offset in range(48):
        weights = bytearray(members[WEIGHTS])
        weights[offset] ^= 0xFF
        path = write(tmp_path / "m.keras", {**members, WEIGHTS: bytes(weights)})
        _loads_the_same_or_is_refused(path, expected)


def test_truncations_end_in_one_line(members, tmp_path):
    content = write(tmp_path / "m.keras", members).read_bytes()
    for size in range(0, len(content), len(content) // 60):
        (tmp_path / "m.keras").write_bytes(content[:size])
        refused(tmp_path / "m.keras")
