// SPDX-License-Identifier: Apache-2.0
/// Pictures of a graph as self-contained SVG without scripts and fonts, readable on light and dark
/// backgrounds. Elements have a <title> with their facts.
/// Tests: tests/topology/views_test.cc
#pragma once

#include <string>

#include "topology/model/graph.h"
#include "topology/views/layout.h"

namespace weir::topology {

/// One host, see layout_of_host(). REQUIRES: check(graph) is ok, and `host` is a host of it.
std::string svg_of_host(const Graph& graph, Index host, const LinkTraffic& traffic = {});
/// Network and hosts, see layout_of_fabric(). REQUIRES: check(graph) is ok.
std::string svg_of_fabric(const Graph& graph, const LinkTraffic& traffic = {});

/// A drawing without its style sheet, for a page that has style_sheet().
std::string svg_body(const Drawing& drawing);
/// The CSS of all drawings.
std::string style_sheet();

}  // namespace weir::topology
