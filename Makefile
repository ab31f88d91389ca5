# `make demo` and `make test` set everything up on a machine that has Python 3.10+ and make.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: help setup wasm demo test check bench docs peers paper clean

help:
	@echo "make setup   install everything the tests need in $(VENV)"
	@echo "make wasm    compile the core to WebAssembly, js/src/capsulet.wasm"
	@echo "make demo    train, evaluate, predict and explain on the docstrings of your Python"
	@echo "make test    run the whole test suite"
	@echo "make check   run ruff and mypy"
	@echo "make bench   run every benchmark; needs data sets in DATA (default: ../shared/data); takes hours"
	@echo "make docs    write the generated parts of the docs"
	@echo "make peers   compare with other libraries (hours; installs transformers, fastText and others)"
	@echo "make paper   run the paper's experiments (days; PAPER='--sets ag_news_61k --budget epochs=3' takes less)"

PIP := $(BIN)/python -m pip install --quiet --constraint constraints.txt

setup: $(VENV)/.dev $(VENV)/.browser

# What the demo needs: capsulet with the extra `train`.
$(VENV)/.train: pyproject.toml setup.py constraints.txt $(wildcard src/capsulet/native/*.c src/capsulet/native/*.h)
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "capsulet needs Python 3.10 or newer")'
	$(PYTHON) -m venv $(VENV)
	$(PIP) --editable '.[train]'
	touch $@

# What the tests need. Dependency groups need pip 25.1 or newer.
$(VENV)/.dev: $(VENV)/.train
	$(PIP) pip
	$(PIP) --editable '.[train,scale]' --group dev --group figures
	touch $@

# Node, Chromium, npm packages and the WebAssembly for the tests of js/. Those tests are skipped without them.
WASM := $(wildcard core/*.[ch] js/wasm/*.c js/wasm/include/*.h) js/build_wasm.py
$(VENV)/.browser: js/package-lock.json js/setup.sh $(WASM) | $(VENV)/.dev
	sh js/setup.sh
	-$(BIN)/python js/build_wasm.py
	touch $@

wasm: $(VENV)/.dev
	$(BIN)/python js/build_wasm.py

demo: $(VENV)/.train
	$(BIN)/capsulet demo

test: setup
	$(BIN)/python -m pytest

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Some benchmarks share trained models: MODELS/SET-seedN. Missing models are trained.
DATA ?= ../shared/data
MODELS ?= models
bench: setup
	$(PIP) --group faithfulness
	$(BIN)/python -m benchmarks.runtime --write
	$(BIN)/python -m benchmarks.encoder --write
	$(BIN)/python -m benchmarks.routing --write
	$(BIN)/python -m benchmarks.training --write
	$(BIN)/python -m benchmarks.classes --write
	$(BIN)/python -m benchmarks.kills --write
	-$(BIN)/python -m benchmarks.multilabel --write  # needs the package lists of Debian
	$(BIN)/python -m benchmarks.accuracy --data $(DATA) --write
	$(BIN)/python -m benchmarks.size --data $(DATA) --models $(MODELS) --write
	$(BIN)/python -m benchmarks.trust --data $(DATA) --models $(MODELS) --write
	$(BIN)/python -m benchmarks.drift --data $(DATA) --model $(MODELS)/ag_news_61k-seed1 $(MODELS)/banking77-seed1 --write
	$(BIN)/python -m benchmarks.faithfulness --data $(DATA) --models $(MODELS) --write
	$(BIN)/python -m benchmarks.browser $(MODELS)/ag_news_61k-seed1/model.safetensors --texts $(DATA)/ag_news_61k/test.csv --write
	$(MAKE) docs

docs: setup
	$(BIN)/python -m docs

peers: setup
	$(PIP) --group peers
	$(BIN)/python -m benchmarks.peers --data $(DATA) --write
	$(MAKE) docs

PAPER ?=
paper: setup
	$(BIN)/python -m paper parameters
	$(BIN)/python -m paper losses --data $(DATA) $(PAPER)
	$(BIN)/python -m paper routing --data $(DATA) $(PAPER)
	$(BIN)/python -m paper components --data $(DATA) $(PAPER)
	$(BIN)/python -m paper sota --data $(DATA) $(PAPER)
	$(BIN)/python -m paper stability --data $(DATA) $(PAPER)
	$(BIN)/python -m paper codes --data $(DATA) $(PAPER)
	$(BIN)/python -m paper curves --table losses
	$(BIN)/python -m paper confusion
	$(MAKE) docs

clean:
	rm -rf $(VENV) build js/dist js/node_modules js/src/capsulet.wasm src/*.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis capsulet-demo
