#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What weir does on a machine with a GPU, in one call of at most 9 minutes and without a network:
#
#   tests/gpu/accept.sh [--hip] [--only REGEX]      builds from the checkout, runs all steps, prints a table
#   tests/gpu/accept.sh --pack FILE                 packs the built programs, for a machine that cannot build
#   tests/gpu/accept.sh --packed FILE               runs from such a file
#   tests/gpu/accept.sh --fake                      on the stand-in of a driver, and PyTorch on the CPU with Gloo
#   tests/gpu/accept.sh --list                      names the steps
#
# Results, logs and the recorded machine go to $OUT (build/accept), and all of it to $OUT/accept.tgz. The exit code is
# 0 if nothing failed. A step that cannot run here is skipped and says why. ACCEPT_FAKE=1 is --fake; ACCEPT_SECONDS
# (540) is the time for all, ACCEPT_STEP_SECONDS the most for a step, whatever its own limit is.
set -uo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
root="$(cd "$here/../.." && pwd)"
vendor=cuda fake="${ACCEPT_FAKE:-0}" only=. packed='' pack='' list=0

usage() { sed -n '2,13s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; }

while [[ $# -gt 0 ]]; do
  case "$1" in
    --hip) vendor=hip ;;
    --fake) fake=1 ;;
    --list) list=1 ;;
    --only | --pack | --packed)
      [[ $# -ge 2 ]] || { echo "accept.sh: $1 needs a value" >&2; exit 2; }
      [[ "$1" == --only ]] && only="$2"
      [[ "$1" == --pack ]] && pack="$(realpath -m "$2")"
      [[ "$1" == --packed ]] && packed="$(realpath "$2")"
      shift
      ;;
    -h | --help) usage; exit 0 ;;
    *) echo "accept.sh: there is no option '$1'; --help lists them" >&2; exit 2 ;;
  esac
  shift
done

build="${ACCEPT_BUILD:-$root/build}"
out="${OUT:-$build/accept}"
[[ -n "$packed" ]] && out="${OUT:-$PWD/accept}"
mkdir -p "$out" || exit 2
out="$(cd "$out" && pwd)"

# shellcheck source=tests/gpu/pack.sh
source "$here/pack.sh"
if [[ -n "$pack" ]]; then
  pack_to "$pack"
  exit
fi

# shellcheck source=tests/gpu/steps.sh
source "$here/steps.sh"
begin_steps
if [[ -n "$packed" ]]; then
  unpacked="$(mktemp -d)"
  trap 'rm -rf "$unpacked"' EXIT
  step unpack 60 unpack "$packed" "$unpacked"
  build="$unpacked"
elif [[ "$list" == 0 && "${ACCEPT_BUILD:-}" == '' ]]; then
  step build 300 "$here/build.sh" "$root" || { table; exit; }
fi

# shellcheck source=tests/gpu/plan.sh
source "$here/plan.sh"
table
