// SPDX-License-Identifier: Apache-2.0
/// What is wrong or slow in a topology, and what to do about it, in sentences.
#pragma once

#include <string>
#include <vector>

#include "topology/model/graph.h"

namespace weir::topology {

struct Diagnosis {
  enum class Weight : uint8_t {
    wrong,   ///< costs bandwidth or breaks things
    notable  ///< may be meant so
  };
  Weight weight = Weight::notable;
  std::string finding;
  std::string remedy;  ///< empty: there is none

  bool operator==(const Diagnosis&) const = default;
};

/// What a graph alone tells: PCIe links below what both ends can do, GPUs without a NIC near them, hosts that
/// differ, ports that are down, cables that are missing or slow in comparison with their likes,
/// oversubscription. The heavier ones first.
std::vector<Diagnosis> diagnose(const Graph& graph);

}  // namespace weir::topology
