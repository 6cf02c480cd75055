# A virtual environment in .venv with everything the demo and the tests need; nothing is compiled.
PYTHON ?= python3
# Another build of torch, for a GPU: make TORCH='torch==2.13.0 --index-url <the index your CUDA version needs>'
TORCH ?= torch==2.13.0
# That of Python 3.11 compares each file of an index with a list of 900 tags: half as long again.
PIP := pip==25.3
BIN := .venv/bin
READY := .venv/.ready
DOCS_READY := .venv/.docs

.PHONY: setup demo test test-all test-docs test-counting test-rare test-pythons wheel docs coverage lint clean

setup: $(READY)

$(READY): requirements.lock setup.cfg
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet $(PIP)
	$(BIN)/pip install --quiet --no-compile $(TORCH)
	$(BIN)/pip install --quiet --no-compile --no-deps -r requirements.lock
	$(BIN)/pip install --quiet --no-compile --no-deps --no-build-isolation -e .
	touch $@

# One thread a process: networks this small gain nothing from more, and on a busy machine lose much.
demo: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/autoeval demo

# What has a job of its own: pages that are run as they stand, counting, and what is rare: what runs
# networks (detectors, box stability as published, the demo), and what is marked elsewhere. To import
# torch and mmdet takes each process as long as hundreds of tests of files.
DOCS_TESTS := tests/test_docs_run.py tests/test_docs_network.py tests/test_examples.py
COUNTING := autoeval/counting tests/counting
NETWORKS := autoeval/detectors tests/detectors autoeval/stability tests/stability \
	autoeval/demo tests/demo autoeval/mmdet_metric.py tests/test_mmdet_metric.py
# the other files that have a rare test, and those without another one: to collect a file takes as
# long as many a test
RARE = $(filter-out $(NETWORKS) $(addsuffix /%,$(NETWORKS)),$(shell grep -rlw --include='test_*.py' 'mark.rare' tests))
ALL_RARE = $(shell grep -rl --include='test_*.py' '^pytestmark = .*mark\.rare' tests)
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n
# In one process (PROCESSES=0) tests take a sixth less processor time and a third longer: each further
# one imports and collects all of them, and makes what they share again.
PROCESSES ?= 2
EVERYWHERE := not slow and not clients

test: lint
	$(PYTEST) $(PROCESSES) -m "$(EVERYWHERE) and not rare" $(addprefix --ignore=,$(DOCS_TESTS) $(COUNTING) $(NETWORKS) $(ALL_RARE))

# in one process: nearly all of it is in one file
test-docs: $(READY)
	$(PYTEST) 0 $(DOCS_TESTS)

test-counting: $(READY)
	$(PYTEST) $(PROCESSES) $(COUNTING)

test-rare: $(READY)
	$(PYTEST) $(PROCESSES) -m "$(EVERYWHERE) and rare" $(NETWORKS) $(RARE)

# The package as files of predictions need it, without torch, under other Pythons that are at hand:
# on the path, or among the versions of pyenv, whose commands on the path run the chosen one alone.
# The recorded results of every flow hold there, too; their arithmetic is tested by itself above.
PYTHONS := 3.12 3.13
of_pyenv = $(lastword $(wildcard $(or $(PYENV_ROOT),$(HOME)/.pyenv)/versions/$*.*/bin/python$*))
FILES_TESTS := tests/io/predictions tests/golden
NEEDS_A_NETWORK := tests/golden/test_golden.py::test_results_are_as_recorded[counting]

test-pythons: $(addprefix test-python,$(PYTHONS))

# One wheel for all of them; pip and what builds it are those of .venv. In one process: to load numpy,
# pandas and scipy again in two further ones takes a fifth of the time of these tests.
wheel: $(READY)
	rm -rf build/wheels
	$(BIN)/pip wheel --quiet --no-deps --no-build-isolation -w build/wheels .

test-python%: wheel
	@python=$(or $(of_pyenv),python$*); \
	if ! $$python -c "import venv" 2>/dev/null; then echo "no Python $* here: its tests are left out"; else \
	$$python -m venv --without-pip .venv-$* && \
	$(BIN)/pip --python .venv-$*/bin/python install --quiet --no-compile build/wheels/*.whl \
	pytest pytest-xdist hypothesis pycocotools && \
	OMP_NUM_THREADS=1 .venv-$*/bin/python -P -m pytest -n 0 -m "$(EVERYWHERE) and not rare" $(FILES_TESTS) \
	--deselect "$(NEEDS_A_NETWORK)"; fi

test-all: test test-docs test-counting test-rare test-pythons

# The pages of docs/ as a site in build/site; a warning is an error.
docs: $(DOCS_READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict

$(DOCS_READY): $(READY) requirements-docs.lock
	$(BIN)/pip install --quiet --no-compile --no-deps -r requirements-docs.lock
	touch $@

# All tests in one process, or some: make coverage TESTS="tests/stability/scores tests/runtime"
coverage: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python -m coverage run -m pytest $(TESTS)
	$(BIN)/python -m coverage report

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyrefly check

clean:
	rm -rf .venv .venv-* work_dirs build/site build/wheels
