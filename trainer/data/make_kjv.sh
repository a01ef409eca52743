#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes kjv.txt.xz, the text that ships with the trainer: the King James Bible of Debian's packages bible-kjv and
# bible-kjv-text, which is in the public domain; one verse per line, without the references before the verses.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

command -v bible >/dev/null || { echo "make_kjv.sh: install bible-kjv and bible-kjv-text first" >&2; exit 1; }
bible -f gen1:1-rev22:21 | sed -E 's/^[^ ]+ //' | xz -9e --threads=1 >kjv.txt.xz
sum="$(xz -dc kjv.txt.xz | sha256sum)"
if [[ "$sum" != b5c4940bcfeee072c0935b5200d0f9d88a00a0199cb0961d16133458fcdfae5d* ]]; then
  echo "make_kjv.sh: the text differs from the one measured in docs/trainer.md" >&2
fi
