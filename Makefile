# Everything here works in a fresh clone with python3 (3.10+, with its headers), pip, make, git and
# a C++20 compiler. The rest comes from PyPI into $(VENV).
PYTHON ?= python3
VENV ?= .venv
PYTEST_ARGS ?=
# Processes of pytest; tests of one file stay in one of them.
JOBS ?= 2
# The environment of `make test-torch`, and the release of torch in it.
VENV_TORCH ?= .venv-torch
TORCH ?= torch==2.13.0
# The environment of `make docs`.
VENV_DOCS ?= .venv-docs
# How long `make harden` runs, and what its inputs are drawn from.
HARDEN_SECONDS = $(or $(SECONDS),600)
SEED ?= 0
# The environment of `make test-engines`.
VENV_ENGINES ?= .venv-engines
# The environment of `make test-browser`.
VENV_BROWSER ?= .venv-browser
# The environment of `make test-integrations`.
VENV_TOOLS ?= .venv-tools
# The environment of `make test-oldest`.
VENV_OLDEST ?= .venv-oldest
# Releases and hashes of everything that development needs; LOCKED=1 installs these and nothing else.
LOCK := requirements-dev.lock
LOCKED ?=
# The compiler of `make cross`.
CROSS ?= aarch64-linux-gnu-g++
# ON: a compiler warning fails the build. OFF: it is shown; compilers of tomorrow warn of other things.
WERROR ?= OFF

BIN := $(VENV)/bin
PY := $(BIN)/python
PIP := PIP_DISABLE_PIP_VERSION_CHECK=1 $(PY) -m pip
NATIVE := $(wildcard $(foreach depth,* */* */*/*,cpp/$(depth).cpp cpp/$(depth).hpp))
TYPED := $(wildcard src/crfkit tests bench examples)
SAN := build/sanitize

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help build cross test test-slow test-torch test-engines test-browser test-integrations test-oldest docs lock demo lint style types spell format stubs bench wheel sanitize sanitized harden clean distclean

help: ## print this list
	@echo "crfkit: make TARGET [PYTHON=python3.12 VENV=.venv312]"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' Makefile

# ---- the environment ---------------------------------------------------------------------------
# .created: an empty virtual environment. .deps: build requirements, dependencies and tools.
# .built: the editable install, rebuilt in place when native code or pyproject.toml changes.

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' \
	  || { echo "crfkit needs Python 3.10 or newer: make PYTHON=/path/to/python3.12"; exit 1; }
	@$(PYTHON) -c 'import os, sysconfig as s; h = os.path.join(s.get_path("include"), "Python.h"); \
	  raise SystemExit(not os.path.exists(h))' \
	  || { echo "The headers of $(PYTHON) are missing: install python3-dev (Debian, Ubuntu)" \
	            "or python3-devel (Fedora)."; exit 1; }
	@command -v "$${CXX:-c++}" >/dev/null || command -v g++ >/dev/null || command -v clang++ >/dev/null \
	  || { echo "No C++ compiler: install g++ or clang++, or set CXX."; exit 1; }
	@echo "==> creating $(VENV)"
	@rm -rf $(VENV)
	@$(PYTHON) -m venv $(VENV) >/dev/null 2>&1 || { \
	  echo "==> python3 -m venv failed: trying virtualenv"; rm -rf $(VENV); \
	  $(PYTHON) -m virtualenv -q $(VENV) 2>/dev/null || { \
	    $(PYTHON) -m pip install -q --upgrade --target build/virtualenv virtualenv && \
	    PYTHONPATH=build/virtualenv $(PYTHON) -m virtualenv -q $(VENV); }; } || { \
	  rm -rf $(VENV); \
	  echo "No virtual environment: install python3-venv (Debian, Ubuntu: apt install python3-venv)"; \
	  echo "or virtualenv, and run make again."; exit 1; }
	@touch $@

# Requirements as pyproject.toml states them; pip cannot install a project's needs without the project.
# Arguments: names of extras in place of all; --oldest, what is needed in any case, and these, at their lower bounds.
define REQUIREMENTS
import re
import sys
try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    from pip._vendor import tomli as tomllib
with open("pyproject.toml", "rb") as file:
    table = tomllib.load(file)
extras = table["project"]["optional-dependencies"]
def expand(requirements):
    for requirement in requirements:
        ours = re.match(r"crfkit\[(.*)\]", requirement)
        if ours:
            for extra in ours[1].split(","):
                yield from expand(extras[extra.strip()])
        else:
            yield requirement
extra = [name for name in sys.argv[1:] if name != "--oldest"]
needs = [f"crfkit[{name}]" for name in extra]
if "--oldest" in sys.argv or not extra:
    base = table["build-system"]["requires"] + table["project"]["dependencies"]
    needs = base + (needs or ["crfkit[dev]"])
needs = list(dict.fromkeys(expand(needs)))
if "--oldest" in sys.argv:
    needs = [re.sub(r">=([\w.]+).*", r"==\1", need) for need in needs]
print(*needs, sep="\n")
endef
export REQUIREMENTS

$(VENV)/.deps: $(VENV)/.created pyproject.toml
	@echo "==> installing dependencies and tools (the first time takes a minute or two)"
	@$(PY) -c "$$REQUIREMENTS" $(if $(OLDEST),--oldest test plot tables) > $(VENV)/requirements.txt
	@$(PIP) install -q $(if $(LOCKED),--require-hashes -r $(LOCK),-r $(VENV)/requirements.txt)
	@touch $@

$(VENV)/.built: $(VENV)/.deps CMakeLists.txt pyproject.toml $(NATIVE)
	@echo "==> building crfkit"
	@$(PIP) install -v --no-deps --no-build-isolation \
	  --config-settings=cmake.define.CRFKIT_WERROR=$(WERROR) \
	  $(if $(OLDEST),--config-settings=build-dir=build/oldest) -e . >$(VENV)/build.log 2>&1 \
	  || { cat $(VENV)/build.log; exit 1; }
	@grep -A4 'warning:' $(VENV)/build.log || true
	@touch $@

build: $(VENV)/.built ## compile, and install crfkit into the virtual environment (editable)

# ---- checks ------------------------------------------------------------------------------------

test: lint $(VENV)/.built ## lint, types and the test suite but for slow tests (PYTEST_ARGS="-k sweep" narrows it)
	@echo "==> pytest, $(JOBS) processes"
	@$(PY) -m pytest -n $(JOBS) --dist worksteal -m "not slow and not browser" $(PYTEST_ARGS)

test-slow: $(VENV)/.built ## what takes long: growth of costs, damaged states, short memory, faults, kills
	@echo "==> pytest, slow tests, $(JOBS) processes"
	@$(PY) -m pytest -n $(JOBS) --dist worksteal -m slow tests $(PYTEST_ARGS)

# An environment of its own, because torch is large: it sees all of $(VENV) and adds torch and its peers.
$(VENV_TORCH)/.deps: $(VENV)/.deps pyproject.toml
	@echo "==> creating $(VENV_TORCH) (torch is large: this takes a few minutes)"
	@rm -rf $(VENV_TORCH)
	@$(PY) -m venv --without-pip $(VENV_TORCH)
	@$(PY) -c 'import sysconfig as s; print("import site; site.addsitedir(%r)" % s.get_path("purelib"))' \
	  > $$($(VENV_TORCH)/bin/python -c 'import sysconfig as s; print(s.get_path("purelib"))')/crfkit.pth
	@$(PY) -c "$$REQUIREMENTS" torch-dev > $(VENV_TORCH)/requirements.txt
	@PIP_DISABLE_PIP_VERSION_CHECK=1 $(VENV_TORCH)/bin/python -m pip install -q \
	  "$(TORCH)" -r $(VENV_TORCH)/requirements.txt
	@touch $@

test-torch: $(VENV)/.built $(VENV_TORCH)/.deps ## the tests of crfkit.torch, in an environment with torch
	@echo "==> pytest, crfkit.torch, $(JOBS) processes"
	@$(VENV_TORCH)/bin/python -m pytest -n $(JOBS) --dist loadfile tests/torch src/crfkit/torch \
	  src/crfkit/compat $(PYTEST_ARGS)

# An environment of its own, because engines are large; Spark needs Java, and its test skips without.
$(VENV_ENGINES)/.deps: $(VENV)/.deps pyproject.toml
	@echo "==> creating $(VENV_ENGINES)"
	@rm -rf $(VENV_ENGINES)
	@$(PY) -m venv --without-pip $(VENV_ENGINES)
	@$(PY) -c 'import sysconfig as s; print("import site; site.addsitedir(%r)" % s.get_path("purelib"))' \
	  > $$($(VENV_ENGINES)/bin/python -c 'import sysconfig as s; print(s.get_path("purelib"))')/crfkit.pth
	@$(PY) -c "$$REQUIREMENTS" engines-dev > $(VENV_ENGINES)/requirements.txt
	@PIP_DISABLE_PIP_VERSION_CHECK=1 $(VENV_ENGINES)/bin/python -m pip install -q -r $(VENV_ENGINES)/requirements.txt
	@touch $@

test-engines: $(VENV)/.built $(VENV_ENGINES)/.deps ## tagging on Ray, Spark and Dask data frames, which are large
	@echo "==> pytest, engines"
	@$(VENV_ENGINES)/bin/python -m pytest -m "slow or not slow" tests/distributed/test_tagging.py $(PYTEST_ARGS)

# A browser is no package of PyPI: Debian's, where it may be installed.
CHROMIUM := chromium fonts-dejavu-core fonts-noto-color-emoji
$(VENV_BROWSER)/.deps: $(VENV)/.deps pyproject.toml
	@echo "==> creating $(VENV_BROWSER)"
	@rm -rf $(VENV_BROWSER)
	@$(PY) -m venv --without-pip $(VENV_BROWSER)
	@$(PY) -c 'import sysconfig as s; print("import site; site.addsitedir(%r)" % s.get_path("purelib"))' \
	  > $$($(VENV_BROWSER)/bin/python -c 'import sysconfig as s; print(s.get_path("purelib"))')/crfkit.pth
	@$(PY) -c "$$REQUIREMENTS" browser-dev > $(VENV_BROWSER)/requirements.txt
	@PIP_DISABLE_PIP_VERSION_CHECK=1 $(VENV_BROWSER)/bin/python -m pip install -q -r $(VENV_BROWSER)/requirements.txt
	@touch $@

test-browser: $(VENV)/.built ## pictures and the inspector in a browser: contrast, themes, no script, no request; a notebook
	@command -v chromium >/dev/null || test "$$(id -u)" != 0 || ! command -v apt-get >/dev/null \
	  || { echo "==> installing $(CHROMIUM)"; export DEBIAN_FRONTEND=noninteractive; \
	    apt-get install -qq -y --no-install-recommends $(CHROMIUM) >/dev/null 2>&1 \
	    || { apt-get update -qq && apt-get install -qq -y --no-install-recommends $(CHROMIUM); } >/dev/null 2>&1; } || true
	@if ! command -v chromium >/dev/null; then \
	  echo "==> pictures in a browser: skipped, there is no chromium and no way to install it"; \
	else \
	  $(MAKE) --no-print-directory $(VENV_BROWSER)/.deps && echo "==> pytest, pictures in a browser" && \
	  $(VENV_BROWSER)/bin/python -m pytest -m browser tests/view tests/web/inspector $(PYTEST_ARGS); \
	fi

# Tools that call the service or load models: large, and only for this.
$(VENV_TOOLS)/.deps: $(VENV)/.deps
	@echo "==> creating $(VENV_TOOLS) (Label Studio and MLflow: this takes some minutes)"
	@rm -rf $(VENV_TOOLS)
	@$(PY) -m venv $(VENV_TOOLS)
	@PIP_DISABLE_PIP_VERSION_CHECK=1 $(VENV_TOOLS)/bin/python -m pip install -q "label-studio==1.23.*" mlflow-skinny
	@touch $@

test-integrations: $(VENV)/.built $(VENV_TOOLS)/.deps ## a real Label Studio and MLflow, in an environment of their own
	@echo "==> pytest, other tools"
	@PATH="$$PATH:$(abspath $(VENV_TOOLS))/bin" $(PY) -m pytest -m slow tests/integrations/test_label_studio.py $(PYTEST_ARGS)
	@PYTHONPATH="$$($(VENV_TOOLS)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" \
	  $(PY) -m pytest -W ignore tests/integrations/test_mlflow.py $(PYTEST_ARGS)

test-oldest: ## the test suite with the oldest releases that pyproject.toml allows, in an environment of its own
	@$(MAKE) --no-print-directory VENV=$(VENV_OLDEST) OLDEST=1 build
	@echo "==> pytest, oldest releases, $(JOBS) processes"
	@$(VENV_OLDEST)/bin/python -m pytest -n $(JOBS) --dist loadfile $(PYTEST_ARGS)

lint: style types spell ## ruff, clang-format, mypy and codespell

style: $(VENV)/.deps
	@echo "==> ruff, clang-format"
	@$(BIN)/ruff check -q .
	@$(BIN)/ruff format -q --check . || { $(BIN)/ruff format --check .; echo "make format"; exit 1; }
	@$(BIN)/clang-format --dry-run --Werror $(NATIVE)

types: $(VENV)/.deps
	@echo "==> mypy"
	@$(BIN)/mypy --no-error-summary $(TYPED)

spell: $(VENV)/.deps
	@echo "==> codespell"
	@$(BIN)/codespell

# No warning is an error here: other compilers warn of other things.
cross: ## compile the kernels for aarch64 (CROSS names the compiler)
	@for file in $$(find cpp/kernels -name '*.cpp'); do \
	  echo "$$file" && $(CROSS) -std=c++20 -O2 -fopenmp-simd -DCRFKIT_ARCH=baseline -Icpp -c -o /dev/null $$file || exit 1; \
	done

format: $(VENV)/.deps ## let ruff and clang-format rewrite the sources
	@$(BIN)/ruff check -q --fix-only .
	@$(BIN)/ruff format .
	@$(BIN)/clang-format -i $(NATIVE)

stubs: $(VENV)/.built ## write src/crfkit/_native.pyi from the module that is built (make test compares them)
	@$(PY) -m tests.whole.stubs

# The sanitized module is staged beside a copy of the package and found through PYTHONPATH; a
# sitecustomize takes the editable install's import hook out of the way, in child processes too.
# The stacks that look for use after return are not aligned to the 64 bytes of AVX-512.
sanitized: $(VENV)/.built
	@echo "==> building with sanitizers"
	@$(BIN)/cmake -S . -B $(SAN) -G Ninja --log-level=WARNING \
	  -DCMAKE_MAKE_PROGRAM="$(abspath $(BIN)/ninja)" -DPython_EXECUTABLE="$(abspath $(PY))" \
	  -Dnanobind_DIR="$$($(PY) -m nanobind --cmake_dir)" \
	  -DCMAKE_BUILD_TYPE=Release -DCRFKIT_SANITIZE=ON >$(VENV)/sanitize.log \
	  || { cat $(VENV)/sanitize.log; exit 1; }
	@$(BIN)/cmake --build $(SAN)
	@rm -rf $(SAN)/site && mkdir -p $(SAN)/site && cp -R src/crfkit $(SAN)/site/
	@$(BIN)/cmake --install $(SAN) --prefix $(SAN)/site >/dev/null
	@printf '%s\n' 'import sys' \
	  'sys.meta_path[:] = [f for f in sys.meta_path if not type(f).__name__.startswith("ScikitBuild")]' \
	  > $(SAN)/site/sitecustomize.py

# Begins a command line that runs with the sanitized module.
define SANITIZED
preload=$$(ldd $(SAN)/site/crfkit/_native*.so | awk '/asan|ubsan|libstdc\+\+/ { print $$3 }'); \
export LD_PRELOAD="$$(echo $$preload)" PYTHONPATH="$(abspath $(SAN)/site)" PYTHONMALLOC=malloc \
  ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1; \
$(PY) -c 'import crfkit._native as m; assert "/$(SAN)/site/" in m.__file__, m.__file__' && \
$(PY)
endef

sanitize: sanitized ## the test suite with address and undefined-behavior sanitizers
	@echo "==> pytest, sanitized"
	@$(SANITIZED) -m pytest -p no:cacheprovider --capture=sys tests $(PYTEST_ARGS)

harden: sanitized ## fuzzers and faults for ten minutes (SECONDS=600), half of the time with sanitizers
	@echo "==> hardening, sanitized"
	@half="-m tests.harden --seconds $$(($(HARDEN_SECONDS) / 2)) --seed $(SEED) --jobs $(JOBS)"; \
	($(SANITIZED) $$half); first=$$?; \
	test $$first != 130 || exit 130; \
	echo "==> hardening"; \
	$(PY) $$half && exit $$first

# ---- products ----------------------------------------------------------------------------------

# An environment of its own, as for torch: it sees all of $(VENV) and adds Sphinx.
$(VENV_DOCS)/.deps: $(VENV)/.deps pyproject.toml
	@echo "==> creating $(VENV_DOCS)"
	@rm -rf $(VENV_DOCS)
	@$(PY) -m venv --without-pip $(VENV_DOCS)
	@$(PY) -c 'import sysconfig as s; print("import site; site.addsitedir(%r)" % s.get_path("purelib"))' \
	  > $$($(VENV_DOCS)/bin/python -c 'import sysconfig as s; print(s.get_path("purelib"))')/crfkit.pth
	@$(PY) -c "$$REQUIREMENTS" docs > $(VENV_DOCS)/requirements.txt
	@PIP_DISABLE_PIP_VERSION_CHECK=1 $(VENV_DOCS)/bin/python -m pip install -q -r $(VENV_DOCS)/requirements.txt
	@touch $@

docs: $(VENV)/.built $(VENV_DOCS)/.deps ## write the site into build/site; a warning is an error
	@echo "==> sphinx"
	@$(VENV_DOCS)/bin/python -m sphinx -q -W --keep-going -j auto -b dirhtml -d build/doctrees docs build/site
	@echo "build/site/index.html"

demo: $(VENV)/.built ## see crfkit at work
	@$(PY) -m crfkit.demo

bench: $(VENV)/.built ## time kernels, features, tagging and training; results go to bench/results
	@mkdir -p bench/results
	@$(PY) -m bench.kernels
	@$(PY) -m bench.features || test $$? = 2
	@$(PY) -m bench.readers --quick || test $$? = 2
	@$(PY) -m bench.tag --quick || test $$? = 2
	@$(PY) -m bench.train --quick || test $$? = 2
	@$(PY) -m bench.grid --quick || test $$? = 2

wheel: $(VENV)/.deps ## build a wheel into dist
	@echo "==> building the wheel"
	@$(PIP) wheel -q --no-deps --no-build-isolation -w dist .
	@ls dist/*.whl

# Universal: one file for every platform and for Python 3.10 to 3.13; made in a throw-away environment.
lock: $(VENV)/.created ## write requirements-dev.lock anew: the newest releases that pyproject.toml allows, with hashes
	@echo "==> resolving"
	@$(PY) -c "$$REQUIREMENTS" > $(VENV)/requirements.in
	@rm -rf build/lock && $(PYTHON) -m venv build/lock && build/lock/bin/python -m pip install -q uv
	@build/lock/bin/uv pip compile -q --universal --python-version 3.10 --no-python-downloads --upgrade --generate-hashes \
	  --no-annotate --no-header --no-emit-index-url --no-emit-find-links -o $(LOCK) $(VENV)/requirements.in
	@rm -rf build/lock
	@grep -c '==' $(LOCK) | sed 's/$$/ packages in $(LOCK)/'

clean: ## remove build outputs and caches, keep the virtual environment
	@rm -rf build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis $(VENV)/.built
	@find src tests bench examples -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

distclean: clean ## remove the virtual environment as well
	@rm -rf $(VENV)
