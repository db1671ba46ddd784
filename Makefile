# Two targets are all that a fresh machine needs (Python 3.11 or newer, make, a network):
#   make demo   analyze a sample trace and fuse a small real model, with the measured difference
#   make test   install what the tests need and run them all
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q

.PHONY: demo test samples reports glue lock clean
.DELETE_ON_ERROR:

.venv/installed: requirements/run.lock pyproject.toml
	@echo "Installing into .venv (ONNX Runtime is large: a minute or two on a slow line) …"
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed: make PYTHON=python3.12 …" if sys.version_info < (3, 11) else 0)'
	@$(PYTHON) -m venv .venv
	@$(PIP) install --require-hashes -r requirements/run.lock
	@$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

.venv/installed-demo: requirements/demo.txt .venv/installed
	@$(PIP) install --require-hashes --no-deps -r requirements/demo.txt
	@touch $@

.venv/installed-test: requirements/test.lock .venv/installed
	@$(PIP) install --require-hashes -r requirements/test.lock
	@touch $@

demo: .venv/installed-demo
	@PATH="$(BIN):$$PATH" sh docs/demo.sh

test: .venv/installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest --numprocesses auto --dist loadfile

samples: .venv/installed
	$(BIN)/python -m sample_traces.write_samples

SAMPLES := launch_bound_decode gpu_bound_cnn sync_bound_loop cuda_graph_replay

# The committed reports of the samples.
reports: .venv/installed
	@for sample in $(SAMPLES); do \
		COLUMNS=80 $(BIN)/advisor analyze sample_traces/$$sample.sqlite --html reports/$$sample.html \
			--markdown reports/$$sample.md --json reports/$$sample.json > reports/$$sample.txt || exit 1; \
	done

# The IR text of the kernels' run-time side, after a change of its C code; commit the result.
glue: .venv/installed-test
	$(BIN)/python advisor/fuse/kernels/glue/make_glue.py

# Renews the locked versions; commit the result.
lock: .venv/installed
	$(PIP) install uv
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-annotate --no-header \
		pyproject.toml requirements/build.in -o requirements/run.lock
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-annotate --no-header \
		pyproject.toml requirements/build.in --extra test -o requirements/test.lock

clean:
	rm -rf .venv demo build *.egg-info
