// SPDX-License-Identifier: Apache-2.0
/// Graphs of machines that a line describes.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "topology/formats/synthetic.h"

namespace weir::topology {

inline Graph make_graph(const std::string& line) {
  auto machine = read_synthetic({"line", line});
  EXPECT_TRUE(machine.ok()) << machine.status().message();
  return graph_of(*machine);
}

}  // namespace weir::topology
