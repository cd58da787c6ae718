# Everything a newcomer needs; `make help` lists it.
.DEFAULT_GOAL := help
SHELL := bash

ARGS ?=
TORCH_INDEX ?=
VENV := .venv
# Of make serve. A variable: within $(or …) a comma would begin another argument.
DEMO_MODELS := 'models=[runs/demo_en_de_general,runs/demo_en_de_none]'
BIN := $(VENV)/bin
STAMP := $(VENV)/installed
DOCS_STAMP := $(VENV)/installed-docs
PIP := $(BIN)/python -m pip install --disable-pip-version-check
TORCH := $(shell sed -n 's/^torch==/torch==/p' constraints.txt)
# The first interpreter here that is a version we test.
PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11; do \
	"$$python" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null && echo $$python && break; done)

.PHONY: help setup demo test check docs clean prepare train compare tune evaluate translate interactive serve keys shortlist average align visualise attentions status doctor tensorboard bench torture fuzz mutation distclean

help: ## this list
	@echo 'make <target> [ARGS="words for the program"]'
	@echo
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  \1 | \2/p' $(firstword $(MAKEFILE_LIST)) | column -t -s '|'
	@echo
	@echo 'PYTHON=python3.12      the interpreter that .venv is made with'
	@echo 'TORCH_INDEX=<address>  where torch comes from: the index that pytorch.org names for your machine'
	@echo '                       (its CPU build makes the download 0.4 GB instead of 2.9 GB)'
	@echo 'Quote file names with spaces twice:  make translate ARGS="model=runs/demo input='"'my file.txt'"'"'

setup: $(STAMP) ## make .venv and install everything (the other targets do this by themselves)

# The stamp comes last, so an interrupted set-up is taken up again by the next make. Nothing goes to stdout,
# which may be a file of translations.
$(STAMP): pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "error: no Python 3.11, 3.12 or 3.13 found; make setup PYTHON=<path>" >&2; exit 2; }
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || "$(PYTHON)" -m venv --clear $(VENV) >&2
	@echo "installing into $(VENV): some minutes, once" >&2
	@$(PIP) $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX)) $(TORCH) >&2
	@$(PIP) -c constraints.txt -e '.[dev]' >&2
	@touch $@

demo: $(STAMP) ## train on the demo corpus with and without attention, and show the difference
	@$(BIN)/python scripts/demo $(ARGS)

test: $(STAMP) ## run the tests (the slow ones: make test ARGS="-m slow")
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile -m "not slow" $(ARGS)

bench: $(STAMP) ## measure speed:          ARGS="--multi30k FOLDER --tatoeba FOLDER"
	@$(BIN)/python scripts/bench $(ARGS)

torture: $(STAMP) ## kill runs, break disks and numbers; nothing may be lost: ARGS="--quick"
	@$(BIN)/python scripts/torture $(ARGS)

fuzz: $(STAMP) ## any input whatever, a million times: ARGS="--cases 20000"
	@$(BIN)/python scripts/fuzz $(ARGS)

mutation: $(STAMP) ## do the tests notice small changes of the code? ARGS="--mutants 50"
	@$(BIN)/python scripts/mutation $(ARGS)

check: $(STAMP) ## format, lint, types and the words of the documentation, without changing anything
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python scripts/docs prose

docs: $(DOCS_STAMP) ## build the documentation site, in site/; ARGS=serve shows it
	@$(BIN)/python scripts/docs $(ARGS)

$(DOCS_STAMP): $(STAMP)
	@echo "installing what builds the documentation" >&2
	@$(PIP) -c constraints.txt -e '.[docs]' >&2
	@touch $@

clean prepare train compare tune evaluate translate interactive keys shortlist average align visualise attentions status doctor: $(STAMP)
	@$(BIN)/nmt $@ $(ARGS)

clean: ## drop bad pairs:         ARGS="data=text data.train.src=… output=clean"
prepare: ## tokenizer and encoded corpus, cached (train does it too)
train: ## train a model:          ARGS="data=demo_en_de name=first"
compare: ## train variants, a page:  ARGS="experiment=demo_en_de attention=none,general seed=1,2"
tune: ## search for settings:   ARGS="experiment=demo_en_de space=rnn_small trials=30"
evaluate: ## score a model:          ARGS="model=runs/first"
translate: ## translate lines:        ARGS="model=runs/first" < in.en > out.de
serve: $(STAMP) ## a page in the browser:  ARGS="model=runs/first"; without, the models of make demo
	@$(BIN)/nmt serve $(or $(ARGS),$(DEMO_MODELS))
interactive: ## a prompt to type at:    ARGS="model=runs/first"
keys: ## who may use a server:  ARGS="add=weblate"
shortlist: ## faster translation:    ARGS="model=runs/first"
average: ## a model between several: ARGS="model=[runs/first,runs/tuned] name=both"
align: ## word alignments:        ARGS="model=runs/first src=FILE tgt=FILE"
visualise: ## pictures of attention:  ARGS="model=runs/first" < in.en
attentions: ## every attention, its parameters and cost
status: ## how far a run is:            ARGS="model=runs/first"
doctor: ## what this machine can do, and a self-test

tensorboard: $(STAMP) ## watch all runs:         ARGS="--port 6007"
	@$(BIN)/tensorboard --logdir runs $(ARGS)

distclean: ## remove .venv, dist, site and caches; never runs/
	rm -rf $(VENV) dist build site .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -not -path './runs/*' -prune -exec rm -rf {} +
	@echo 'kept: runs/ and the cache of prepared corpora (cache_dir, by default nmt in $$XDG_CACHE_HOME or ~/.cache)'
