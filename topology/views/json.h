// SPDX-License-Identifier: Apache-2.0
/// A graph as JSON, for programs: {"nodes": [...], "links": [...]}; ends of links and parents are indices in
/// "nodes". Unknown values are not written.
/// Tests: tests/topology/views_text_test.cc, tests/topology/machines_test.cc
#pragma once

#include <string>

#include "topology/model/graph.h"

namespace weir::topology {

std::string json_of(const Graph& graph);

}  // namespace weir::topology
