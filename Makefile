# make demo, make test: each makes its own .venv if there is none, installs, and needs no other step.
PYTHON ?= python3
TORCH ?= torch>=2.6
BIN = .venv/bin
PYTEST = $(BIN)/python -m pytest -n 2 --dist loadscope
INSTALLED = .venv/installed

.PHONY: demo test test-tensorflow test-jax test-torch presets runtimes notebooks lint format clean

demo: $(INSTALLED)
	$(BIN)/kerastrans demo

test: test-tensorflow test-jax

# The whole suite on TensorFlow; test_backends.py starts one process per installed backend.
test-tensorflow: $(INSTALLED)
	KERAS_BACKEND=tensorflow $(PYTEST)

# What is written once must hold on every backend; the command line's own tests ran above, and so did
# the long ones that train until something is learnt.
test-jax: $(INSTALLED)
	KERAS_BACKEND=jax $(PYTEST) -k "not copy_task and not reverse" tests/layers tests/models tests/data/test_windows.py \
		tests/test_masks.py tests/test_blocks.py tests/test_generation.py tests/test_evaluation.py \
		tests/export tests/test_precision.py tests/test_samplers.py tests/test_inspection.py \
		tests/test_heads.py tests/test_covariates.py tests/data/test_panel.py

# All architectures' forecasts, and what a backend can differ in: kernels, the decoding loop, random
# numbers. PyTorch is heavy and comes on request: make test-torch TORCH=torch==2.13.0
test-torch: $(INSTALLED)
	$(BIN)/python -m pip install -qq "$(TORCH)"
	$(PYTEST) tests/test_backends.py tests/contract/test_backends.py -k torch
	KERAS_BACKEND=torch $(PYTEST) -k "not copy_task and not reverse" tests/layers tests/test_masks.py \
		tests/test_generation.py tests/test_samplers.py tests/test_heads.py tests/data/test_panel.py

# The presets of saved_models/ that are missing; PRESETS=name trains one anew.
presets: $(INSTALLED)
	$(BIN)/python tools/make_presets.py $(PRESETS)

# What each runtime's forecasts differ by: the tests' own figures, in docs/runtimes.md.
runtimes: $(INSTALLED)
	$(BIN)/python -m pip install -qq "$(TORCH)"
	KERAS_BACKEND=tensorflow $(BIN)/python -m pytest tests/contract/test_export.py \
		tests/contract/test_backends.py --write-runtimes docs/runtimes.md

# Execute the notebooks' texts from a clean kernel and write them with their outputs.
notebooks: $(INSTALLED)
	$(BIN)/python tools/execute_notebooks.py

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(INSTALLED)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf .venv build dist *.egg-info

# The versions in requirements.txt are those that were tested.
$(INSTALLED): pyproject.toml requirements.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install -qq --upgrade pip
	$(BIN)/python -m pip install -qq -r requirements.txt -e ".[jax,dev]"
	touch $(INSTALLED)
