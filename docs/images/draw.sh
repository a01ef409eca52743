#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Draws the picture of the README: docs/images/draw.sh [FOLDER OF weir [FILE]]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
"${1:-build/bin}/weir" plan "16 x (1 gpu pcie 64, 1 nic 50) leaf by 4 2:1 spine 2" --bytes 256M --svg -o "${2:-docs/images/leaf-spine.svg}"
