// SPDX-License-Identifier: Apache-2.0
/// Problems of a topology and their remedies, in sentences.
/// Tests: tests/topology/diagnosis_test.cc
#pragma once

#include <string>
#include <vector>

#include "topology/model/graph.h"

namespace weir::topology {

struct Diagnosis {
  enum class Weight : uint8_t {
    wrong,   ///< reduces bandwidth or breaks something
    notable  ///< may be intended
  };
  Weight weight = Weight::notable;
  std::string finding;
  std::string remedy;  ///< action to take; empty: none

  bool operator==(const Diagnosis&) const = default;
};

/// Problems visible in a graph alone: PCIe links below what both ends support, GPUs without a near NIC, hosts
/// that differ, ports that are down, cables that are missing or slow compared with similar ones,
/// oversubscription. The most serious ones first.
std::vector<Diagnosis> diagnose(const Graph& graph);

}  // namespace weir::topology
