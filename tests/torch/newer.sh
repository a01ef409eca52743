#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs tests/torch over a PyTorch of PyPI, which is built for CUDA, in a virtual environment in build-torch:
# newer.sh [VERSION [PACKAGE...]], with further packages of PyPI, as frameworks.
# The last line is 'N passed, N failed'. Where the version cannot be installed, a line says so, and nothing has failed.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1

version="${1:-2.15.0}"
shift
venv="$PWD/build-torch/python-$version"

installed() { "$venv/bin/python" -c "import sys, torch; sys.exit(torch.__version__.split('+')[0] != '$version')" 2>/dev/null; }
install() {  # by uv where it can be had, which unpacks the gigabytes in a fraction of pip's time
  local packages=("torch==$version" numpy expecttest hypothesis setuptools wheel pybind11 "$@")
  local pip=("$venv/bin/python" -m pip install --quiet --disable-pip-version-check)
  python3 -m venv "$venv" || return
  if "${pip[@]}" uv; then
    timeout 900 "$venv/bin/uv" pip install --quiet --no-cache --python "$venv/bin/python" "${packages[@]}"
  else
    timeout 900 "${pip[@]}" "${packages[@]}"
  fi
}
give_up() { # reason
  echo "newer.sh: $1" >&2
  echo "0 passed, 1 failed"
  exit 1
}

if ! { [[ $# -eq 0 ]] && installed; } && ! install "$@"; then
  echo "skipped: PyTorch $version could not be installed from PyPI"
  echo "0 passed, 0 failed"
  exit 0
fi
VIRTUAL_ENV="$venv" cmake --preset release -B build-torch -U 'WEIR_TORCH*' -DWEIR_TORCH=ON -DPython3_EXECUTABLE="$venv/bin/python" || give_up "configuring failed"
cmake --build build-torch --target torch_tests || give_up "building failed"
junit="$(mktemp)"
trap 'rm -f "$junit"' EXIT
PATH="$venv/bin:$PATH" ctest --test-dir build-torch -L torch -j 2 --timeout 900 --output-on-failure --output-junit "$junit"
python3 tests/project/summary.py "$junit"
