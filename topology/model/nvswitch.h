// SPDX-License-Identifier: Apache-2.0
/// What no description of a machine says of its NVSwitches: how they are joined to each other.
#pragma once

#include "topology/model/graph.h"

namespace weir::topology {

/// Joins the NVSwitches of each host that the links of GPUs leave in several groups (the two boards of a
/// DGX-2), because NVSwitches of one host are one fabric. The switches of each further group are joined one
/// by one to those of the first, with as many links as lead to GPUs, so that they do not limit. Groups that
/// are joined already stay as they are.
void join_nvswitches(Graph& graph);

}  // namespace weir::topology
