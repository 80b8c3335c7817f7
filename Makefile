# make demo    the whole path on an embedded table: bundle, synthetic table, report
# make test    lint, format, types, import contract, tests
# make docs    the documentation site, in site/
# make slow    the long checks: 500 killed writers, a 2 GB file, fuzzing
# make trusted list the files that the privacy claim rests on, and their lines
# make mutants break the trusted code in one place at a time: does a test notice?
# make dist    the source distribution, the wheel and the list of what it needs (SBOM), in dist/
# make sbom    that list alone, of the wheel in dist/
# make fix     let ruff mend what it can
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test docs slow trusted mutants dist sbom fix clean

demo: .venv/demo
	$(BIN)/sfumato demo --out sfumato-demo

test: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	OMP_NUM_THREADS=1 $(BIN)/pytest --numprocesses 2 --dist loadfile
	cd papers && OMP_NUM_THREADS=1 ../$(BIN)/pytest --numprocesses 2 --dist loadfile

docs: .venv/docs
	OMP_NUM_THREADS=1 $(BIN)/python -m docs._site

slow: .venv/dev
	HYPOTHESIS_PROFILE=long $(BIN)/pytest -m "slow or not slow" -s
	cd papers && HYPOTHESIS_PROFILE=long ../$(BIN)/pytest -m "slow or not slow" -s

trusted:
	$(PYTHON) -m tests.trusted_lines

mutants: .venv/dev
	$(BIN)/python -m tests.mutants

dist: .venv/dev
	rm -rf dist
	$(BIN)/python -m hatchling build -d dist
	$(MAKE) sbom

sbom: .venv/dev
	$(BIN)/python -m tests.packaging.sbom dist

fix: .venv/dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf .venv dist sfumato-demo site build

.venv/demo: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --editable . --constraint constraints.txt
	touch $@

.venv/dev: .venv/demo papers/pyproject.toml
	$(BIN)/pip install --quiet --editable ".[dev]" --editable "papers[dev]" --constraint constraints.txt
	touch $@

.venv/docs: .venv/demo
	$(BIN)/pip install --quiet --editable ".[docs]" --constraint constraints.txt
	touch $@
