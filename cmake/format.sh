#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Formats all C and C++ files of the tree in place, or with --check only names those that are not formatted.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# One release decides: others of clang-format differ in details.
formatter=clang-format-14
if ! command -v "$formatter" >/dev/null; then
  echo "format.sh: $formatter is missing (cmake/packages.sh develop installs it)" >&2
  exit 1
fi
arguments=(-i)
[[ "${1:-}" == --check ]] && arguments=(--dry-run --Werror --ferror-limit=1)
folders=()
for folder in algorithms bench examples include python src stand_in tests topology trainer transports; do
  [[ -d "$folder" ]] && folders+=("$folder")
done
find "${folders[@]}" -type f \( -name '*.h' -o -name '*.cc' -o -name '*.c' \) -print0 |
  xargs -0 -r -P 2 -n 40 "$formatter" --style=file "${arguments[@]}"
