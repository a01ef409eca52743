#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs by apt what is missing of the named groups of packages.txt: packages.sh GROUP...
# packages.sh --missing GROUP... only names it. Calls apt only when something is missing. Works as root or with sudo; says what to do when there is neither.
set -euo pipefail
list="$(dirname "${BASH_SOURCE[0]}")/packages.txt"

wanted() {
  awk -v groups=" $* " '!/^#/ && NF >= 2 && index(groups, " " $1 " ") { print $2 }' "$list"
}

is_installed() {
  [[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" == installed ]]
}

only_name=0
[[ "${1:-}" != --missing ]] || { only_name=1 && shift; }
missing=()
mapfile -t packages < <(wanted "$@")
if [[ ${#packages[@]} -eq 0 ]]; then
  echo "packages.sh: no package belongs to '$*'; the groups are build, trainer, test, torch, package, develop, site, gpu, gpu-newest and compare" >&2
  exit 1
fi
if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "weir: no apt on this machine, so nothing is installed; expected to be present: ${packages[*]}" >&2
  exit 0
fi
for package in "${packages[@]}"; do
  is_installed "$package" || missing+=("$package")
done
[[ ${#missing[@]} -eq 0 ]] && exit 0
[[ $only_name -eq 0 ]] || { echo "${missing[*]}" && exit 0; }

as_root=(env DEBIAN_FRONTEND=noninteractive)
if [[ "$(id -u)" -ne 0 ]]; then
  if ! command -v sudo >/dev/null; then
    echo "weir: not root and no sudo; please have these packages installed, then call again: ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo "${as_root[@]}")
fi
echo "weir: installing ${missing[*]}"
# A foreign mirror that does not answer must not stop us: the install below decides.
"${as_root[@]}" apt-get update -q </dev/null || echo "weir: apt-get update had trouble; trying to install all the same" >&2
"${as_root[@]}" apt-get install -q -y --no-install-recommends "${missing[@]}" </dev/null
