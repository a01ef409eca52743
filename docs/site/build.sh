#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the site of the pages and the reference of the headers: docs/site/build.sh [FOLDER], build-site without one. Warnings,
# such as links that lead nowhere, are errors. `cmake/packages.sh site` installs Sphinx and Doxygen; exit status 77 without them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

site="${1:-build-site}"
for program in sphinx-build doxygen; do
  command -v "$program" >/dev/null || { echo "site: no $program here; cmake/packages.sh site installs it" >&2 && exit 77; }
done
python="$(head -n 1 "$(command -v sphinx-build)" | sed 's/^#!//')"
"${python:-python3}" -c 'import furo, myst_parser' 2>/dev/null ||
  { echo "site: Sphinx is here without furo or myst_parser; cmake/packages.sh site installs them" >&2 && exit 77; }

if [[ -e "$site" && ! -e "$site/.weir-site" ]]; then
  echo "site: $site is there and was not made by this script; expected a new folder" >&2
  exit 1
fi
rm -rf "$site"
mkdir -p "$site"
touch "$site/.weir-site"
{ cat docs/site/Doxyfile && echo "OUTPUT_DIRECTORY = $site"; } | doxygen -
sphinx-build -q -W --keep-going -j auto -c docs/site -d "$site/.doctrees" . "$site"
rm -rf "$site/.doctrees"
echo "$site/README.html"
