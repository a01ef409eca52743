#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Writes a hostfile whose order keeps traffic inside leaf switches, and says what that gains: hostfile.sh TOPOLOGY RANKS_PER_HOST
#
#   examples/cluster/hostfile.sh examples/cluster/fabric.txt 8 > hostfile
#   mpirun --hostfile hostfile -np 32 -x NCCL_COMM_ID=node0:29400 PROGRAM
#
# TOPOLOGY is any file that `weir topo --help` names: a fabric file, Slurm's topology.conf, the output of ibnetdiscover.
set -euo pipefail
[[ $# -eq 2 ]] || { echo "usage: $0 TOPOLOGY RANKS_PER_HOST" >&2; exit 2; }
weir plan "$1" --bytes 1G >&2
weir order "$1" --slots "$2" --format hostfile
