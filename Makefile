# The front door: `make setup demo test docs surface sanitize bench portable wheel gpu-check format clean`. CMake does the building.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
BUILD ?= build
VENV := .venv
VENV_PYTHON := $(VENV)/bin/python
SIZE ?= full
# Compiles the files of a folder as one, which halves a build from nothing; OFF compiles each alone, for
# those who change single files.
UNITY ?= ON
# What only the benchmark compares with; Triton alone takes 1 GB.
PEERS := $(VENV)/peers

# Everything a fresh Debian 12 lacks; llvm-22 and mlir-22 come from Debian's own security archive.
PACKAGES := llvm-22-dev llvm-22-tools libmlir-22-dev mlir-22-tools liblld-22-dev lld-22 clang-22 \
  clang-format-22 libgtest-dev ccache ninja-build cmake make git python3-venv python3-dev python3-pip \
  libzstd-dev zlib1g-dev g++ pkg-config libclang-rt-22-dev
# The last three are for tests, which build programs around exported kernels as their users would, also
# under sanitizers; torch.compile, one of the benchmark's peers, asks for g++, too.

# ccache cannot reuse objects built with a precompiled header unless it may ignore these two.
export CCACHE_SLOPPINESS := pch_defines,time_macros

.PHONY: help setup packages build demo test docs surface headers sanitize bench portable wheel gpu-check format clean

help:
	@printf '%s\n' \
	  'make setup    install missing Debian packages, build, make .venv usable' \
	  'make demo     run the tutorials and print their speed against torch and NumPy' \
	  'make test     run every test: ctest, pytest, lints' \
	  'make docs     build the documentation site into build/docs/html' \
	  'make surface  run a program for every feature that kernels elsewhere use (SURFACE="--only dot" narrows it)' \
	  'make headers  compile every file without the precompiled header (HEADERS="runtime ir" narrows it)' \
	  'make sanitize build and run the tests under Address-, UndefinedBehavior- and ThreadSanitizer' \
	  '              (SANITIZE="--only address --part ops" narrows it, SANITIZE=--list tells the parts)' \
	  'make bench    print the full ratio tables (BENCH="--quick --only matmul" narrows them)' \
	  'make portable pack an archive for other Linux machines (x86-64, glibc 2.35, Python 3.10 to 3.13)' \
	  'make wheel    pack the package alone for such machines, as a wheel for pip' \
  'make gpu-check  run the tests and a benchmark on this machine'"'"'s GPU' \
  'make format   clang-format all C++' \
	  'make clean    remove the build directory; .venv stays'

setup: build

# install-missing(packages): nothing is asked of the network when all of them are there.
define install-missing
missing=$$(comm -23 <(printf '%s\n' $(1) | sort) <(dpkg-query -W \
    -f='$${db:Status-Status} $${Package}\n' $(1) 2>/dev/null | sed -n 's/^installed //p' | sort)); \
if [ -n "$$missing" ]; then \
  root=; [ "$$(id -u)" = 0 ] || root=sudo; \
  if [ -n "$$root" ] && ! command -v sudo >/dev/null; then \
    echo "These Debian packages are missing, and neither root nor sudo is there to install them:" \
         $$missing >&2; exit 1; \
  fi; \
  echo "installing" $$missing; \
  $$root apt-get update -q; \
  $$root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $$missing; \
fi
endef

packages:
	@if command -v dpkg-query >/dev/null; then $(call install-missing,$(PACKAGES)); \
	else echo 'not Debian: taking for granted that these are installed: $(PACKAGES)'; fi

# What the package and the tutorials need, then what tests need.
$(VENV)/.usable: tutorials/requirements.txt | packages
	@$(VENV_PYTHON) -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv $(VENV)
	$(VENV_PYTHON) -m pip install -q -r tutorials/requirements.txt
	@touch $@

$(VENV)/.installed: test/requirements.txt $(VENV)/.usable
	$(VENV_PYTHON) -m pip install -q -r test/requirements.txt
	@touch $@

# Releases of one package, each in a folder of its own. pip's `--target` would leave an old one in place.
$(VENV)/.assemblers: test/assemblers.txt $(VENV)/.installed
	@rm -rf $(VENV)/assemblers
	@for release in $$(grep -v '^#' $<); do \
	  $(VENV_PYTHON) -m pip install -q --no-deps --target $(VENV)/assemblers/$$release \
	    nvidia-cuda-nvcc==$$release || exit 1; \
	done
	@touch $@

# A path file and a two-line command make the source tree itself the package of .venv: an edited .py or
# a rebuilt _native.so counts at once, with no second build and no network, unlike `pip install -e`.
$(VENV)/.linked: $(VENV)/.usable Makefile
	@echo '$(CURDIR)/python' > "$$($(VENV_PYTHON) -c \
	  'import sysconfig; print(sysconfig.get_path("purelib"))')/tilewright-source.pth"
	@printf '#!/bin/sh\nexec "%s" -m tilewright "$$@"\n' '$(CURDIR)/$(VENV_PYTHON)' \
	  > $(VENV)/bin/tilewright
	@chmod +x $(VENV)/bin/tilewright
	@touch $@

# The stamp depends on this file: its options are the configuration.
$(BUILD)/.configured: $(VENV)/.usable Makefile | packages
	cmake -S . -B $(BUILD) -G Ninja -DCMAKE_C_COMPILER="$$(command -v clang-22)" \
	  -DCMAKE_CXX_COMPILER="$$(command -v clang++-22)" -DTILEWRIGHT_PYTHON=ON -DTILEWRIGHT_TESTS=ON \
	  -DTILEWRIGHT_UNITY=$(UNITY) \
	  -DPYTHON_EXECUTABLE=$(CURDIR)/$(VENV_PYTHON) -DPython_EXECUTABLE=$(CURDIR)/$(VENV_PYTHON)
	@touch $@

build: packages $(BUILD)/.configured $(VENV)/.linked $(VENV)/.installed $(VENV)/.assemblers
	@cmake --build $(BUILD)

# The package alone: tests are a quarter of the build.
demo: packages $(BUILD)/.configured $(VENV)/.linked
	@echo 'building the package: 3 to 6 minutes on 2 cores the first time; [done/all] are its steps'
	@cmake --build $(BUILD) --target _native library_records
	@$(VENV_PYTHON) tutorials/demo.py --size $(SIZE)

# Every runner runs, so that one failure does not hide another, and prints its closing line again.
test: setup
	@$(VENV_PYTHON) test/run_all.py --build $(BUILD)

docs: setup
	@$(VENV_PYTHON) tutorials/site/make.py $(BUILD)/docs

surface: setup
	@$(VENV_PYTHON) test/surface/surface.py $(SURFACE)

headers: setup
	@$(VENV_PYTHON) test/headers.py $(HEADERS)

sanitize: setup
	@$(VENV_PYTHON) test/sanitize/run.py --build $(BUILD) $(SANITIZE)

# Beside the packages that they have in common with torch, whose versions tests depend on.
bench: setup
	@test -d $(PEERS)/numba/numba || \
	  $(VENV_PYTHON) -m pip install -q --no-deps --target $(PEERS)/numba numba llvmlite || \
	  echo 'numba cannot be installed here'
	@test -d $(PEERS)/jax/jax || \
	  $(VENV_PYTHON) -m pip install -q --no-deps --target $(PEERS)/jax 'jax==0.7.*' 'jaxlib==0.7.*' \
	    opt_einsum scipy || \
	  echo 'JAX cannot be installed here'
	@$(VENV_PYTHON) test/benchmark/run.py $(BENCH)
	@$(VENV_PYTHON) test/benchmark/operations.py
	@test -d $(PEERS)/triton/triton || \
	  $(VENV_PYTHON) -m pip install -q --no-deps --target $(PEERS)/triton 'triton==3.9.*' || \
	  echo 'Triton cannot be installed here'
	@$(VENV_PYTHON) test/benchmark/assembly/generated.py
	@$(VENV_PYTHON) test/benchmark/assembly/generated_amd.py
	@test -d $(PEERS)/cutile/cuda/tile || \
	  $(VENV_PYTHON) -m pip install -q --no-deps --target $(PEERS)/cutile cuda-tile \
	    nvidia-cuda-tileiras nvidia-cuda-nvcc nvidia-nvvm || \
	  echo 'cuTile cannot be installed here'
	@$(VENV_PYTHON) test/benchmark/assembly/generated_hopper.py

portable: setup
	@CXX='ccache clang++-22' $(VENV_PYTHON) python/portable/pack.py --build $(BUILD)

# One wheel for every Python from 3.10 to 3.13 whose headers are here, in $(BUILD)/wheel.
wheel: packages $(BUILD)/.configured
	@cmake --build $(BUILD) --target tilewright
	@CXX='ccache clang++-22' $(VENV_PYTHON) python/portable/pack.py --build $(BUILD) --wheel

gpu-check: setup
	@$(VENV_PYTHON) test/gpu_check.py $(CHECK)

format: packages
	@git ls-files -co --exclude-standard '*.h' '*.cpp' | xargs -r clang-format-22 -i

clean:
	rm -rf $(BUILD)
