"""The explorer's files, functions and page compute what Keras computes."""

import functools
import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import kerastrans
from kerastrans import datasets, text
from kerastrans.data import random_sequences
from kerastrans.layers import CachedMultiHeadAttention
from tests.helpers.browser import PACKAGE, needs_browser
from tools.checks import chromium
from tools.site import runtime

pytest.importorskip("onnx", reason="the extra onnx is not installed")
from tools.site.explorer import make, recipes

ROOT = Path(__file__).parents[2]
FACTS = json.loads(make.FACTS.read_text())
CLOSE = {"rtol": 1e-4, "atol": 1e-4}
RUN = ROOT / "tests/helpers/explorer.mjs"
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(
    NODE is None or not PACKAGE.exists(), reason="needs node, and make browser"
)


def example(name):
    """Return inputs of a model's encoder and decoder, for the file and for Keras."""
    if name == "numbers":
        _, held_out, vocabularies = recipes.number_words()
        source, lengths, target = recipes.encode_words(held_out[:1], vocabularies)
        source = source[:, : lengths[0]]
        target = np.concatenate([[[text.START]], target[:, :4]], axis=1).astype("int32")
        return (source, target), [source, lengths, target]
    if name == "departures":
        history = np.array([FACTS[name]["series"]["JFK"]], "float32")[..., None]
        history, seen = history[:, : recipes.CONTEXT], history[:, 156:180]
        return (history, seen), [history, seen]
    sequence = random_sequences(1, recipes.NUM_STEPS, recipes.NUM_CHANNELS, seed=3)
    seen = random_sequences(1, 4, recipes.NUM_CHANNELS, seed=4)
    return (sequence, seen), [sequence, seen]


@functools.cache
def open_file(name):
    return pytest.importorskip("onnxruntime").InferenceSession(make.path_of(name))


def run_file(name, inputs, look_ahead=True, scaled=True):
    """Run a file of the page in onnxruntime, and return a dict of its outputs."""
    session = open_file(name)
    feeds = dict(zip(("encoder_inputs", "decoder_inputs"), inputs, strict=True))
    switches = {"look_ahead": np.array(look_ahead), "scaled": np.array(scaled)}
    outputs = session.run(None, feeds | switches)
    return dict(zip((x.name for x in session.get_outputs()), outputs, strict=True))


def attentions(model, kind=CachedMultiHeadAttention):
    return [layer for layer in model.layers if isinstance(layer, kind)]


def run_node(**given):
    """Run requests with the functions of the page, and return what they give."""
    command = [NODE, str(RUN), str(make.FOLDER), str(PACKAGE)]
    ran = subprocess.run(
        command, input=json.dumps(given), capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def test_page_states_the_sizes_and_results_of_its_files():
    words = " ".join((make.FOLDER / "index.md").read_text("utf-8").split())
    files = [runtime.EXAMPLE, *(path for path in make.FOLDER.iterdir() if path.suffix != ".md")]
    assert "the page has less than 1 MB" in words
    assert sum(path.stat().st_size for path in files) < 1e6
    models = sum(facts["bytes"] for facts in FACTS.values())
    assert f"The four models have {models / 1000:.0f} kB" in words
    if PACKAGE.exists():
        size = sum((PACKAGE / name).stat().st_size for name in runtime.FILES)
        assert f"the runtime has {size / 1e6:.1f} MB" in words
    assert sorted(FACTS) == sorted(path.stem for path in make.FOLDER.glob("*.onnx"))
    for name, facts in FACTS.items():
        assert (make.FOLDER / f"{name}.onnx").stat().st_size == facts["bytes"]
    assert f"mean squared error is {FACTS['copy']['mse']:.4f} (" in words
    numbers = FACTS["numbers"]
    right = round(numbers["right"] * numbers["held_out"])
    assert f"{right} of the {numbers['held_out']} others" in words
    hours = FACTS["departures"]
    assert f"is {hours['mae']:.2f} flights per hour" in words
    assert f"that of the week before {hours['mae_week_before']:.2f}" in words


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["copy", "numbers", pytest.param("departures", marks=pytest.mark.slow)]
)
def test_file_returns_outputs_and_attention_of_keras(name):
    inputs, of_keras = example(name)
    model = make.load(name)
    assert model.count_params() == FACTS[name]["parameters"]
    found = run_file(name, inputs)
    outputs = model.predict_on_batch(of_keras)[0]
    np.testing.assert_allclose(found["outputs"], outputs, **CLOSE)
    for kind, weights in kerastrans.attention_scores(model, of_keras).items():
        np.testing.assert_allclose(found[kind], weights, **CLOSE, err_msg=kind)


def test_switches_do_what_the_page_says():
    inputs, of_keras = example("copy")
    unmasked = make.load("copy")
    for layer in attentions(unmasked):
        layer.causal = False  # attention_scores then counts the decoder's maps to the encoder's
    found = run_file("copy", inputs, look_ahead=False)
    np.testing.assert_allclose(found["outputs"], np.asarray(unmasked(of_keras))[0], **CLOSE)
    assert (found["decoder_self"] > 0).all()

    unscaled = make.load("copy")
    for layer in attentions(unscaled):
        layer.query_dense.set_weights([x * 8**0.5 for x in layer.query_dense.get_weights()])
    found = run_file("copy", inputs, scaled=False)
    np.testing.assert_allclose(found["outputs"], np.asarray(unscaled(of_keras))[0], **CLOSE)


def test_copy_task_shows_what_the_page_says_of_it():
    errors = {"all": [], "unmasked": [], "unscaled": []}
    off = {"unmasked": {"look_ahead": False}, "unscaled": {"scaled": False}}
    for sequence in random_sequences(20, recipes.NUM_STEPS, recipes.NUM_CHANNELS, seed=7):
        for name, found in errors.items():
            seen = np.zeros((1, 1, recipes.NUM_CHANNELS), "float32")
            for _ in range(recipes.NUM_STEPS):
                outputs = run_file("copy", (sequence[None], seen), **off.get(name, {}))
                seen = np.concatenate([seen, outputs["outputs"][None, -1:]], axis=1)
            found.append(np.mean((seen[0, 1:] - sequence) ** 2))
            if name == "all":
                at_next = outputs["cross"].argmax(axis=-1) == np.arange(recipes.NUM_STEPS)
                assert at_next.all(axis=-1).sum() >= 7  # of 8 heads
    errors = {name: np.mean(found) for name, found in errors.items()}
    assert errors["all"] < 2 * FACTS["copy"]["mse"]
    assert 2 * errors["all"] < errors["unmasked"] < errors["unscaled"]


@pytest.mark.slow
@needs_node
def test_decoding_of_the_page_equals_generate():
    (sequence, _), _ = example("copy")
    (source, _), (_, lengths, _) = example("numbers")
    sampler = kerastrans.RandomSampler(temperature=2.0, seed=5)
    steps = recipes.NUM_WORDS
    (uniform,) = sampler.draws(1, steps)
    switches = {"switches": {"lookAhead": True, "scaled": True}}
    zeros = [[0.0] * recipes.NUM_CHANNELS]
    words = {"model": "numbers", "type": "int32", "source": source[0].tolist(), "first": [1]}
    words |= {"uniform": uniform[0].tolist(), **switches}
    models = {name: make.load(name) for name in make.RECIPES}
    week = example("departures")[0][0][0].tolist()
    translated = models["numbers"].generate(source, lengths, steps)[0]
    length = int((translated != text.PAD).sum())
    requests = [
        {"model": "copy", "source": sequence[0].tolist(), "first": zeros, "steps": 6, **switches},
        {**words, "temperature": 0, "steps": length},
        {**words, "temperature": 2.0, "steps": 3},
        {"model": "departures", "source": week, "first": week[-12:], "steps": 48, **switches},
    ]
    found = run_node(decodings=requests, numbers=list(range(1000)))
    copied, chosen, drawn, continued = found["decodings"]

    generated = models["copy"].generate(sequence, 6, start_token=0.0)
    np.testing.assert_allclose(copied["picked"], generated[0], **CLOSE)
    seen = np.concatenate([np.zeros((1, 1, recipes.NUM_CHANNELS)), generated[:, :-1]], axis=1)
    scores = kerastrans.attention_scores(models["copy"], [sequence, seen.astype("float32")])
    for kind, weights in scores.items():
        values = np.reshape(copied["outputs"][kind]["values"], copied["outputs"][kind]["shape"])
        np.testing.assert_allclose(values, weights, **CLOSE, err_msg=kind)
    assert chosen["picked"] == translated[:length].tolist()
    sampled = models["numbers"].generate(source, lengths, steps, sampler)[0]
    assert drawn["picked"] == sampled[:3].tolist()
    start = np.array([[text.START]], "int32")
    logits = models["numbers"].predict_on_batch([source, lengths, start])[0, 0]
    logits = np.delete(logits.astype("float64"), [text.PAD, text.START])
    shares = {t: np.exp(logits / t) / np.exp(logits / t).sum() for t in (1, 2, 3)}
    np.testing.assert_allclose(drawn["shares"][0][2:], shares[2], **CLOSE)
    assert drawn["shares"][0][:2] == [0, 0]
    assert shares[1].max() > 0.99
    assert shares[3].max() < 0.9
    forecast = models["departures"].generate(np.array([week], "float32"), recipes.HORIZON)
    np.testing.assert_allclose(continued["picked"], forecast[0], **CLOSE)
    pairs = text.number_pairs(1000, 1000)
    assert {" ".join(x) for x in found["words"]} == {a.replace("-", " ") for a, _ in pairs}


@pytest.mark.slow
@needs_node
def test_own_series_is_forecast_and_explained_as_by_the_forecaster():
    flights = datasets.load("nyc_departures")["LGA"][-1100:].astype("float64")
    flights.iloc[[700, 701, 1090]] = np.nan
    level = pd.Series(
        1e8 + np.sin(np.arange(60.0)), pd.date_range("2024-01-01", periods=60), name="y"
    )
    passengers = datasets.load("air_passengers").iloc[:, 0]
    all_series = flights, level, passengers
    texts = [series.rename_axis("date").to_csv() for series in all_series]
    files = run_node(files=[{"text": text, "steps": 14} for text in texts])["files"]
    for series, found in zip(all_series, files, strict=True):
        assert found["isRegular"]
        frame = series.rename_axis("ds").rename("y").reset_index().assign(unique_id="a")
        options = {"model_options": {"season": None}, "verbose": False}
        zero = kerastrans.from_pretrained("kerastrans_zero_2", 14, **options)
        expected = zero.predict(frame)
        unit, size = np.nanmax(series) - np.nanmin(series), np.nanmax(series.abs())
        close = {"rtol": 1e-12, "atol": 1e-4 * unit}
        columns = {
            "median": zero.alias,
            "low": f"{zero.alias}-lo-80",
            "high": f"{zero.alias}-hi-80",
        }
        for name, column in columns.items():
            np.testing.assert_allclose(found[name], expected[column], **close, err_msg=name)
        assert pd.Timestamp(found["names"][1]) == expected["ds"].iloc[0]
        parts = zero.explain(frame)
        for step, (_, rows) in enumerate(parts.groupby("ds")):
            of_page = pd.DataFrame(found["parts"][step])
            assert len(of_page) == len(rows)
            for column, near in (("share", 1e-4), ("contribution", 1e-4 * unit + 1e-6 * size)):
                sums = [x.groupby("part")[column].sum().sort_index() for x in (of_page, rows)]
                np.testing.assert_allclose(*sums, rtol=1e-6, atol=near)


@pytest.mark.slow
@needs_node
def test_page_reads_csv_files_or_says_in_one_line_what_it_expects():
    texts = {
        "": "The file is empty: rows of numbers are expected.",
        "a,b\n": "The file has a header only: rows of numbers are expected.",
        "name,place\nx,y\n": "No column of numbers was found in name, place: one is expected.",
        "ds,y\n2024-01-01,1\n2024-01-02,2\n2024-01-01,3\n": "The time 2024-01-01 occurs more than "
        "once: one row per time is expected.",
    }
    good = [
        "d,y\n01/02/2024,1\n02/02/2024,2\n03/02/2024,3\n",
        "year,count\n2001,4\n2002,5\n2004,6\n",
        "3\n1\n2\n",
        "day;count\n2024-03-01;1,5\n2024-03-02;\n2024-03-04;2,5\n2024-03-05;3\n",
        '"when","a, b"\n2024-01-31 23:00,1\n2024-02-01 00:00,2\n2024-02-01 01:00,NaN\n',
    ]
    found = run_node(files=[{"text": text} for text in [*texts, *good]])["files"]
    assert [x["error"] for x in found[: len(texts)]] == list(texts.values())
    ambiguous, years, rows, gaps, quoted = found[len(texts) :]
    assert (ambiguous["columns"], ambiguous["isRegular"]) == (["y"], False)
    assert (years["columns"], years["values"]) == (["count"], ["4", "5", "NaN", "6"])
    assert years["names"] == ["2004-01-01", "2005-01-01"]
    assert (rows["values"], rows["names"]) == (["3", "1", "2"], ["row 3", "row 4"])
    assert not rows["isRegular"]
    assert (gaps["values"], gaps["names"][1]) == (["1.5", "NaN", "NaN", "2.5", "3"], "2024-03-06")
    assert (quoted["columns"], quoted["values"]) == (["a, b"], ["1", "2", "NaN"])
    assert quoted["names"][1] == "2024-02-01 02:00"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The page without the theme of the site, in a browser, from a plain file server."""
    pytest.importorskip("markdown", reason="the extra docs is not installed")
    from tools.site.explorer.page import write_page

    folder = tmp_path_factory.mktemp("site") / "explorer"
    write_page(folder)
    with chromium.serve_folder(folder.parent) as address, chromium.launch() as browser:
        tab, faults = browser.new_page(), []
        tab.on("pageerror", lambda error: faults.append(str(error)))
        tab.on("request", lambda x: x.url.startswith((address, "data:")) or faults.append(x.url))
        tab.goto(f"{address}explorer/")
        for name in (*make.RECIPES, make.ZERO):
            tab.locator(f"#{name}-model:not([aria-busy])").wait_for(timeout=120_000)
        yield tab
        assert not faults


@pytest.mark.slow
@needs_browser
def test_page_steps_back_and_forth_by_keyboard(page):
    part = page.locator("#copy-model")
    part.get_by_role("button", name="Step", exact=True).focus()
    for step in (1, 2, 3):
        page.keyboard.press("Enter")
        part.get_by_text(re.compile(f"^Step {step} of 6")).wait_for()
    assert part.get_by_role("img", name="keys of block 2: 3 of 6 rows are filled").count() == 1
    state = page.evaluate(
        "() => { const {source, picked} = document.getElementById('copy-model').model.decoding;"
        " return {source, picked}; }"
    )
    sequence = np.array([state["source"]], "float32")
    generated = make.load("copy").generate(sequence, 3, start_token=0.0)
    np.testing.assert_allclose(state["picked"], generated[0], **CLOSE)

    part.get_by_text("earlier rows changed by at most 0.0000").wait_for()
    part.get_by_label("look-ahead mask").press("Space")
    part.get_by_text("a cache would be wrong").wait_for()
    part.get_by_label("look-ahead mask").press("Space")
    part.get_by_role("button", name="Back").press("Enter")
    part.get_by_text(re.compile("^Step 2 of 6")).wait_for()
    part.get_by_role("button", name="Decoder, block 2, head 3", exact=True).press("Enter")
    part.get_by_role("table", name=re.compile("^Decoder, block 2, head 3")).wait_for()


@pytest.mark.slow
@needs_browser
def test_page_translates_and_refuses_other_numbers(page):
    part = page.locator("#numbers-model")
    part.get_by_label("Number, 0 to 999").fill("1000")
    page.keyboard.press("Tab")
    part.get_by_text("A whole number from 0 to 999 is expected, not 1000.").wait_for()
    part.get_by_label("Number, 0 to 999").fill("21")
    page.keyboard.press("Tab")
    part.get_by_role("button", name="All steps").click()
    part.get_by_text(re.compile("^Word 4: <eos>")).wait_for()
    chips = part.locator(".x-chips").nth(1).locator("span").all_text_contents()
    assert chips == ["vingt", "et", "un", "<eos>"]


@pytest.mark.slow
@needs_browser
def test_page_has_no_faults_of_accessibility(page):
    from tools.checks import site

    page.add_script_tag(path=site.AXE)
    found = page.evaluate("rules => axe.run('main', rules)", site.RULES)["violations"]
    assert not [(x["id"], site.told(node)) for x in found for node in x["nodes"]]


@pytest.mark.slow
@needs_browser
def test_history_is_changed_by_keyboard_and_by_mouse(page):
    part = page.locator("#departures-model")
    model = make.load("departures")

    def check():
        state = page.evaluate(
            "async () => { const {model} = document.getElementById('departures-model');"
            " await model.settled(); return {history: model.history, forecast: model.forecast}; }"
        )
        history = np.array([state["history"]], "float32")[..., None]
        forecast = model.generate(history, recipes.HORIZON)[0, :, 0]
        np.testing.assert_allclose(state["forecast"], forecast, **CLOSE)
        return state

    before = check()
    part.get_by_role("slider", name="Hour").focus()
    page.keyboard.press("ArrowRight")
    part.get_by_role("slider", name="Flights").focus()
    for _ in range(5):
        page.keyboard.press("ArrowUp")
    by_key = check()
    changed = np.subtract(by_key["history"], before["history"])
    assert np.flatnonzero(changed).tolist() == [157]
    assert changed[157] == pytest.approx(5, abs=0.5)
    assert by_key["forecast"] != before["forecast"]
    box = part.locator("svg").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 4, steps=3)
    page.mouse.up()
    changed = np.subtract(check()["history"], by_key["history"])
    assert len(np.flatnonzero(changed)) == 1
    part.get_by_role("button", name="Restore the week").click()
    assert check()["history"] == before["history"]


@pytest.mark.slow
@needs_browser
def test_the_part_that_a_link_leads_to_starts_first(page):
    tab = page.context.browser.new_page()
    tab.goto(f"{page.url}#zero-model")
    tab.get_by_text("air_passengers.csv: 144 values, 12 steps forecast").wait_for()
    loaded = tab.evaluate("performance.getEntriesByType('resource').map(x => x.name)")
    tab.close()
    scripts = [name.rpartition("/")[2] for name in loaded]
    assert "own.js" in scripts
    assert "copy.js" not in scripts[: scripts.index("own.js")]


@pytest.mark.slow
@needs_browser
def test_own_file_is_forecast_in_the_page(page, tmp_path):
    part = page.locator("#zero-model")
    part.get_by_text("air_passengers.csv: 144 values, 12 steps forecast").wait_for()
    path = tmp_path / "mine.csv"
    path.write_text("x\n" + "\n".join(str(i % 7) for i in range(70)))
    part.get_by_label("CSV file").set_input_files(path)
    part.get_by_text("mine.csv: 70 values, 12 steps forecast").wait_for()
    part.get_by_label("Steps to forecast").fill("3")
    page.keyboard.press("Tab")
    part.get_by_text("mine.csv: 70 values, 3 steps forecast").wait_for()
    shown = page.evaluate("document.getElementById('zero-model').model.found")
    np.testing.assert_allclose(shown["median"], [0, 1, 2], atol=0.2)
    bad = tmp_path / "bad.csv"
    bad.write_text("name\nnobody\n")
    part.get_by_label("CSV file").set_input_files(bad)
    part.get_by_role("alert").get_by_text("No column of numbers was found in name").wait_for()
    part.get_by_role("button", name="Example").click()
    part.get_by_text("air_passengers.csv: 144 values").wait_for()
