# `make demo` and `make test` set everything up on a machine that has Python 3.10+ and make.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: help wheels smoke setup wasm demo test check bench docs peers paper clean fuzz capsulet-run libcapsulet

help:
	@echo "make setup   install everything the tests need in $(VENV)"
	@echo "make wasm    compile the core to WebAssembly, js/src/capsulet.wasm"
	@echo "make demo    train, evaluate, predict and explain on the docstrings of your Python"
	@echo "make test    run the whole test suite"
	@echo "make check   run ruff and mypy"
	@echo "make fuzz    run each fuzz target of the core for SECONDS=60; needs clang"
	@echo "make capsulet-run, make libcapsulet   build the command and the shared library of the core in build/"
	@echo "make bench   run every benchmark; needs data sets in DATA (default: ../shared/data); takes hours"
	@echo "make wheels  build the source archive and the wheels of a release in dist/, and check them"
	@echo "make smoke   install the wheels of dist/ into empty environments and try them"
	@echo "make docs    write the generated parts of the docs, and build the site in build/docs/site"
	@echo "make peers   compare with other libraries (hours; installs transformers, fastText and others)"
	@echo "make paper   run the paper's experiments (days; PAPER='--sets ag_news_61k --budget epochs=3' takes less)"

PIP := $(BIN)/python -m pip install --quiet --constraint constraints.txt
# only files with a hash of the list
LOCKED := $(BIN)/python -m pip install --quiet --require-hashes --no-deps --only-binary :all: --requirement

# System and npm packages are installed beside the Python packages. Without a C compiler, one after the other: apt-get could
# bring half of one while the extensions are built.
JOBS := $(if $(shell command -v cc || command -v gcc || command -v clang),2,1)
setup:
	$(MAKE) --jobs=$(JOBS) $(VENV)/.wasm $(VENV)/.system

# What the demo needs: capsulet with the extra `train`. torch is pinned by its version: its wheels have no common hashes.
# Without a C compiler, the package ziglang brings one (backend.py).
$(VENV)/.train: pyproject.toml setup.py backend.py constraints.txt requirements/train.txt $(wildcard core/*.c core/*.h src/capsulet/native/*.c src/capsulet/native/*.h)
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "capsulet needs Python 3.10 or newer")'
	$(PYTHON) -m venv $(VENV)
	$(LOCKED) requirements/train.txt
	$(PIP) torch==2.13.0
	command -v cc gcc clang >/dev/null || $(PIP) ziglang
	$(PIP) --no-build-isolation --editable '.[train]'
	touch $@

# What the tests need. Dependency groups need pip 25.1 or newer.
$(VENV)/.dev: $(VENV)/.train requirements/dev.txt requirements/serve.txt requirements/site.txt
	$(LOCKED) requirements/dev.txt
	$(LOCKED) requirements/serve.txt
	$(LOCKED) requirements/site.txt
	$(PIP) --no-build-isolation --editable '.[train,onnx,scale,tune,sklearn,serve,serve-ray,hub]' \
	  --group dev --group figures --group site --group clients --group deploy
	touch $@

# Node, Chromium, npm packages, and compilers for slow tests of core/. What cannot be installed is skipped by the tests.
# One after the other: apt-get runs once at a time.
$(VENV)/.system: js/package-lock.json js/setup.sh core/setup.sh
	mkdir -p $(VENV)
	sh js/setup.sh
	sh core/setup.sh
	touch $@

# The WebAssembly for the tests of js/. Those tests are skipped without it.
$(VENV)/.wasm: $(wildcard core/*.[ch] js/wasm/*.c js/wasm/include/*.h) js/build_wasm.py | $(VENV)/.dev
	-$(BIN)/python js/build_wasm.py
	touch $@

wasm: $(VENV)/.dev
	$(BIN)/python js/build_wasm.py

demo: $(VENV)/.train
	$(BIN)/capsulet demo

# worksteal: neighbouring tests stay in one process, so their fixtures are made once; `pytest PATH` alone needs no -n
WORKERS ?= 2
test: setup
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

SECONDS ?= 60
fuzz capsulet-run libcapsulet:
	$(MAKE) -C core $@ BUILD=$(CURDIR)/build SECONDS=$(SECONDS)

# Some benchmarks share trained models: MODELS/SET-seedN. Missing models are trained.
DATA ?= ../shared/data
MODELS ?= models
bench: setup
	$(PIP) --group faithfulness fasttext-numpy2-wheel
	$(BIN)/python -m benchmarks.encoder --write
	$(BIN)/python -m benchmarks.routing --write
	$(BIN)/python -m benchmarks.training --write
	$(BIN)/python -m benchmarks.classes --write
	$(BIN)/python -m benchmarks.kills --write
	-$(BIN)/python -m benchmarks.shared_machine --write  # its bounds need two idle cores
	-$(BIN)/python -m benchmarks.multilabel --write  # needs the package lists of Debian
	$(BIN)/python -m benchmarks.accuracy --data $(DATA) --write
	$(BIN)/python -m benchmarks.accuracy --data $(DATA) --sets languages --write
	$(BIN)/python -m benchmarks.curve --data $(DATA) --write
	$(BIN)/python -m benchmarks.hard_files --data $(DATA) --write
	$(BIN)/python -m benchmarks.frontier --data $(DATA) --write
	$(BIN)/python -m benchmarks.tuning --data $(DATA) --write
	$(PIP) --group peers
	$(BIN)/python -m benchmarks.migration --write
	$(BIN)/python -m docs.images.make
	$(BIN)/python -m benchmarks.size --data $(DATA) --models $(MODELS) --write
	$(BIN)/python -m benchmarks.trust --data $(DATA) --models $(MODELS) --write
	$(BIN)/python -m benchmarks.drift --data $(DATA) --model $(MODELS)/ag_news_61k-seed1 $(MODELS)/banking77-seed1 --write
	$(BIN)/python -m benchmarks.faithfulness --data $(DATA) --models $(MODELS) --write
	$(BIN)/python -m benchmarks.engine --model $(MODELS)/ag_news_61k-seed1 --texts $(DATA)/ag_news_61k/test.csv --train $(DATA)/ag_news_61k/train.csv --write
	$(BIN)/python -m benchmarks.browser $(MODELS)/ag_news_61k-seed1/model.safetensors --texts $(DATA)/ag_news_61k/test.csv --write
	$(BIN)/python -m benchmarks.labelling --data $(DATA)/trec6/train.jsonl --labelling-rounds 5 --write
	-$(PIP) --group servers
	$(BIN)/python -m benchmarks.serve --model $(MODELS)/ag_news_61k-seed1 --texts $(DATA)/ag_news_61k/test.csv --peers --write
	$(MAKE) docs

wheels: setup
	$(PIP) --group release
	$(BIN)/python -m release.wheels

smoke: setup
	$(BIN)/python -m release.smoke

docs: setup
	$(BIN)/python -m docs
	$(BIN)/python -m docs.images.drawings
	$(BIN)/python -m docs.site

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
