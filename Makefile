# make demo, make test: each makes its own .venv if there is none, installs, and needs no other step.
PYTHON ?= python3
TORCH ?= torch>=2.6
BIN = .venv/bin
# tests/conftest.py sorts the files, so that none of the longest comes last.
PYTEST = $(BIN)/python -m pytest -n 2 --dist loadscope --no-loadscope-reorder \
	--durations 10 --durations-min 1
INSTALLED = .venv/installed
# Kernels, the decoding loop, random numbers, tables of tensors: each backend has its own.
DIFFERS = tests/layers tests/models/layers tests/decoding tests/heads tests/data/test_panel.py

# Parts of the slow tests. TensorFlow frees no compiled function: in one run they take 20 GB.
MODELS = tests/contract tests/models
FORECASTING = tests/forecasting tests/cli
SLOW = "slow and not exhaustive"
# Pages that name all architectures or heads.
NAMED = README.md docs/index.md docs/parts.md docs/guide/choose-a-model.md docs/how/heads.md

# Where this is set, each of the many processes would compile TensorFlow's modules anew: 10 s.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: browser changes explorer explorer-check contract demo generate test test-all test-data test-tensorflow \
	test-models test-forecasting test-others test-jax test-torch parity parity-table presets runtimes lattice \
	fuzz mutations pages extras notebooks changed-notebooks docs \
	docs-accessibility pictures lint types format release-check clean

demo: $(INSTALLED)
	$(BIN)/kerastrans demo

# Every public feature, and the examples of the docstrings: minutes. What takes longer is `slow`.
test: $(INSTALLED)
	KERAS_BACKEND=tensorflow $(PYTEST) -m "not slow" --doctest-modules tests kerastrans

# The rest: the slow tests, and on JAX what a backend can differ in.
test-all: test test-tensorflow test-jax

# On the benchmark series of KERASTRANS_DATA_DIR: the other targets skip these tests without it.
test-data: $(INSTALLED)
	: $${KERASTRANS_DATA_DIR:?names no folder of benchmark series, see CONTRIBUTING.md}
	KERAS_BACKEND=tensorflow $(PYTEST) -m "data and not exhaustive" tests

test-tensorflow: test-models test-forecasting test-others

# test_backends.py starts one process per installed backend.
test-models: $(INSTALLED)
	KERAS_BACKEND=tensorflow $(PYTEST) -m $(SLOW) $(MODELS)

test-forecasting: $(INSTALLED)
	KERAS_BACKEND=tensorflow $(PYTEST) -m $(SLOW) $(FORECASTING)

test-others: $(INSTALLED)
	KERAS_BACKEND=tensorflow $(PYTEST) -m $(SLOW) tests \
		$(addprefix --ignore=,$(MODELS) $(FORECASTING))

# Architectures, presets, lessons and first imports that go the way of others, published weights in
# float64, the budget on JAX, and what is slow there: what `test-all` leaves out.
contract: $(INSTALLED)
	KERAS_BACKEND=tensorflow $(PYTEST) -m exhaustive $(MODELS)
	KERAS_BACKEND=tensorflow $(PYTEST) -m exhaustive tests $(addprefix --ignore=,$(MODELS))
	KERAS_BACKEND=jax $(PYTEST) tests/test_budget.py
	KERAS_BACKEND=jax $(PYTEST) -m "slow and not exhaustive" $(DIFFERS)

# All architectures' forecasts agreed above. Here is what else a backend can differ in.
test-jax: $(INSTALLED)
	KERAS_BACKEND=jax $(PYTEST) -m "not slow" $(DIFFERS) tests/data/test_array_windows.py \
		tests/utils/test_precision.py tests/utils/test_compilation.py \
		tests/models/parts/test_regression.py
	KERAS_BACKEND=jax $(PYTEST) -m "not slow" tests/forecasting/training/test_checkpoint.py \
		tests/contract/test_models.py tests/tools/test_zero2.py \
		tests/models/pretrained/test_parity.py
	KERAS_BACKEND=jax $(PYTEST) tests/docs/test_code_blocks.py -k "README or guide/jax"

# The same on PyTorch, which is heavy and comes on request: make test-torch TORCH=torch==2.13.0
test-torch: $(INSTALLED)
	$(BIN)/python -m pip install -qq --no-compile "$(TORCH)"
	$(PYTEST) tests/test_backends.py tests/contract/test_backends.py -k torch
	KERAS_BACKEND=torch $(PYTEST) -m "not slow" $(DIFFERS)
	KERAS_BACKEND=torch $(PYTEST) -m "not slow" tests/utils/test_recording.py \
		tests/models/pretrained/test_parity.py tests/models/pretrained/zero \
		tests/forecasting/training/test_fallback.py
	KERAS_BACKEND=torch $(PYTEST) -m "not exhaustive" tests/export/test_pt2.py tests/contract/test_torch_loops.py
	KERAS_BACKEND=torch $(PYTEST) tests/docs/test_code_blocks.py -k pytorch
	KERAS_BACKEND=torch $(PYTEST) tests/models/test_parity.py

# Every published model beside its reference's numbers, on JAX and PyTorch; `test-all` has TensorFlow.
parity: $(INSTALLED)
	$(BIN)/python -m pip install -qq --no-compile "$(TORCH)"
	for backend in jax torch; do \
		KERAS_BACKEND=$$backend $(PYTEST) tests/models/pretrained/test_parity.py -k float32 || exit 1; \
	done

# The presets of saved_models/ that are missing; PRESETS=name trains one anew.
presets: $(INSTALLED)
	$(BIN)/python -m tools.presets.make $(PRESETS)

# The first pages on each back end, and each extra alone, in environments of their own: an hour.
# Those in benchmarks/results/pages.csv and extras.csv are not installed again. EXTRAS=onnx: one.
pages extras: $(INSTALLED)
	$(BIN)/python -m tools.checks.environments $@ $(EXTRAS)

# What each runtime's forecasts differ by: the tests' own figures, in docs/runtimes.md.
runtimes: $(INSTALLED)
	$(BIN)/python -m pip install -qq --no-compile "$(TORCH)"
	KERAS_BACKEND=tensorflow $(BIN)/python -m pytest tests/contract/test_export.py \
		tests/contract/test_backends.py --write-runtimes docs/runtimes.md

# Architectures with the weights of published implementations, in docs/parity.md.
parity-table: $(INSTALLED)
	KERAS_BACKEND=tensorflow $(BIN)/python -m tests.helpers.parity docs/parity.md

# Whether every door gives the same forecast, in docs/doors.md; whether the tests see a changed line.
lattice: $(INSTALLED)
	KERAS_BACKEND=tensorflow $(BIN)/python -m tools.checks.lattice

# Random forecasters, whose forecasts must not change with their data: seconds for each. Those in
# benchmarks/results/fuzz.csv are not drawn again.
fuzz: $(INSTALLED)
	KERAS_BACKEND=jax $(BIN)/python -m tools.checks.fuzz --minimise --models 100 --seed $(or $(SEED),0)

mutations: $(INSTALLED)
	KERAS_BACKEND=jax $(BIN)/python -m tools.checks.mutations

# The runtime of exported files in a web page, of the locked version, for the tests in a Chromium.
browser:
	npm ci --prefix tools/browser --ignore-scripts --no-fund --no-audit

# The models of docs/explorer, trained from their seeds: minutes. PART=numbers makes this one.
explorer: $(INSTALLED)
	KERAS_BACKEND=tensorflow $(BIN)/python -m tools.site.explorer.make $(PART)

# The built page in a Chromium: its numbers beside those of Keras, its controls, and axe-core.
explorer-check: browser docs
	KERAS_BACKEND=tensorflow $(BIN)/python -m pytest -q tests/docs/test_explorer.py
	$(BIN)/python -m tools.checks.site explorer

# Execute the notebooks' texts from a clean kernel and write them with their outputs.
notebooks: $(INSTALLED)
	$(BIN)/python -m tools.site.execute_notebooks

# Those that have changed since a commit: SINCE=main
changed-notebooks: $(INSTALLED)
	$(BIN)/python -m tools.site.execute_notebooks --since $(SINCE)

# The documentation, in site/: a dead link or a page outside of the navigation ends it.
docs: $(INSTALLED)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

# Contrast, texts of pictures, what is loaded from elsewhere, on a desk and on a phone: minutes.
docs-accessibility: docs
	$(BIN)/python -m tools.checks.site

# Each architecture's graph and a forecast of it, in docs/images/architectures: half an hour.
pictures: $(INSTALLED)
	KERAS_BACKEND=jax $(BIN)/python -m tools.site.draw_graphs
	KERAS_BACKEND=jax $(BIN)/python -m tools.site.draw_forecasts
	KERAS_BACKEND=jax $(BIN)/python -m tools.site.draw_explanation
	KERAS_BACKEND=jax $(BIN)/python -m tools.site.draw_front_page

# What follows from the names of architectures, heads and fields: stubs, counts, tables, and the
# pictures that are missing.
generate: $(INSTALLED)
	$(BIN)/python -m tools.checks.stubs
	$(BIN)/python -m tools.tables.readme $(NAMED)
	KERAS_BACKEND=jax $(BIN)/python -m tools.site.draw_graphs --missing
	KERAS_BACKEND=jax $(BIN)/python -m tools.site.draw_forecasts --missing

# A field of `Training`, a head and an architecture, each made in a worktree of its own: which places
# are touched by hand, and whether a test fails without each. CHANGES=head makes this one.
changes: $(INSTALLED)
	KERAS_BACKEND=jax $(BIN)/python -m tools.checks.changes $(CHANGES)

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/python -m tools.checks.size

# Programs that use the public names, by their annotations.
types: $(INSTALLED)
	$(BIN)/mypy

# sdist and wheel, and the wheel in an environment of its own, outside of the checkout.
release-check: $(INSTALLED)
	rm -rf dist build/lib build/bdist.*
	$(BIN)/python -m build
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/python -m tools.checks.wheel dist/*.whl

format: $(INSTALLED)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf .venv build dist site *.egg-info

# The versions in requirements.txt are those that were tested. Without `--no-compile`, pip compiles
# all modules, which takes as long as the rest; Python compiles those that are imported, once.
$(INSTALLED): pyproject.toml requirements.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install -qq --upgrade pip
	$(BIN)/python -m pip install -qq --no-compile -r requirements.txt -e ".[jax,dev,docs]"
	touch $(INSTALLED)
