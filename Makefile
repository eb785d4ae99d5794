# One environment, built from hash-locked requirements: .venv/ with what running needs (run) or with everything (dev).
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# What palpate imports must not depend on how many threads a BLAS likes: small matrices are faster with one.
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1
# Byte code is kept, whatever the shell says: hundreds of commands import the same modules.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test quick check study bench docs lock assets clean

help:
	@echo "make demo   the main job on simulated experiments: recordings -> models, tables"
	@echo "make test   all tests (a few seeds of each study)"
	@echo "make quick  those of them that take less than a minute together, for work in between"
	@echo "make check  formatting, lint and types"
	@echo "make study  the many-seed proofs; writes their tables into docs/studies/"
	@echo "make docs   the documentation as a site in build/site/"
	@echo "make assets the libraries that pages run in a browser, bundled anew (needs npm)"
	@echo "make bench  speed, as ratios against named rivals in the same run"

demo: .venv/.run
	$(BIN)/palpate demo demo

# Arrays of a recording come and go by the thousand: memory that is kept between them is not asked for and cleared again
# and again, which was a fifth of the tests' time (glibc's mallopt(3); other C libraries do not read these).
test quick: export MALLOC_MMAP_THRESHOLD_ ?= 33554432
test quick: export MALLOC_TRIM_THRESHOLD_ ?= 4294967296
test quick: export MALLOC_TOP_PAD_ ?= 67108864
test quick: export NUMPY_MADVISE_HUGEPAGE ?= 0

test: .venv/.dev
	$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder

quick: .venv/.dev
	$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder --quick

check: .venv/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright

study: .venv/.dev
	$(BIN)/python -m studies

bench: .venv/.dev
	$(BIN)/python -m benchmarks

docs: .venv/.dev
	$(BIN)/python -m tests.reference_pages > docs/experiment-file.md
	$(BIN)/python -m tests.reference_pages object > docs/object-file.md
	$(BIN)/python -m tests.commands_page > docs/commands.md
	$(BIN)/python -m tests.law_pictures
	$(BIN)/python -m tests.object_pages
	$(BIN)/python -m tests.mistakes
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict
	@echo "Written: build/site/index.html"

# Needs uv, which is not part of the environment: pip install uv
lock:
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate \
		--custom-compile-command "make lock" pyproject.toml --extra report --group build -o requirements/run.txt
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate \
		--custom-compile-command "make lock" pyproject.toml --all-extras --group build --group dev -o requirements/dev.txt

# Needs npm. What it makes is kept in the repository: src/palpate/web/vendor/README.md says what is in it.
VENDOR := src/palpate/web/vendor
BUNDLE := node_modules/.bin/esbuild --bundle --minify --log-level=warning --define:global=window
assets:
	mkdir -p build/assets && cp $(VENDOR)/assets/*.js build/assets/
	cd build/assets && npm install --no-save --no-audit --no-fund three@0.187.0 plotly.js@4.1.1 uplot@1.6.32 esbuild@0.28.2
	cd build/assets && $(BUNDLE) --format=esm three.js --outfile=../../$(VENDOR)/three.min.js
	cd build/assets && $(BUNDLE) --format=esm uplot.js --outfile=../../$(VENDOR)/uplot.min.js
	cd build/assets && $(BUNDLE) --format=iife --legal-comments=none --banner:js='/* plotly.js v4.1.1, MIT: plotly.LICENSE */' plotly.js --outfile=plotly.min.js
	cp build/assets/plotly.min.js $(VENDOR)/ && cp build/assets/node_modules/uplot/dist/uPlot.min.css $(VENDOR)/uplot.min.css
	for name in three plotly.js uplot; do cp build/assets/node_modules/$$name/LICENSE $(VENDOR)/$${name%.js}.LICENSE; done

clean:
	rm -rf .venv build demo

.venv/.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "palpate needs Python 3.11 or newer, $(PYTHON) is older: make PYTHON=python3.12 ..."; exit 1; }
	@$(PYTHON) -m venv .venv || { echo "python3 has no venv: sudo apt-get install python3-venv"; exit 1; }
	@touch $@

# --no-compile: of ten thousand modules most are never imported, and Python compiles the others when it first needs them.
.venv/.run: requirements/run.txt pyproject.toml | .venv/.python
	@echo "Installing what palpate needs into .venv/ ..."
	@$(PIP) install --no-compile --require-hashes --only-binary :all: -r requirements/run.txt
	@$(PIP) install --no-deps --no-build-isolation --no-index -e .
	@touch $@

# It holds all of run.txt, in the same versions: one installation serves both.
.venv/.dev: requirements/dev.txt pyproject.toml | .venv/.python
	@echo "Installing what palpate and its tests need into .venv/ ..."
	@$(PIP) install --no-compile --require-hashes --only-binary :all: -r requirements/dev.txt
	@$(PIP) install --no-deps --no-build-isolation --no-index -e .
	@touch .venv/.run $@
