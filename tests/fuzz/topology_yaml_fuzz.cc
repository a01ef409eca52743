// SPDX-License-Identifier: Apache-2.0

#include "topology/formats/topology_yaml.h"

#include <cstddef>
#include <cstdint>

#include "tests/fuzz/slurm_names.h"
#include "tests/topology/writers.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace weir::topology;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Notes notes;
  auto read = read_topology_yaml({"fuzz", text}, &notes);
  if (!read.ok()) return 0;
  size_t names = 0;
  for (const auto& named : read->list) names += names_in(named.topology);
  if (names > 20'000) return 0;  // larger ones only take time
  const std::string written = write_topology_yaml(*read);
  auto again = read_topology_yaml({"again", written}, &notes);
  if (!again.ok() || !(*again == *read)) __builtin_trap();
  for (const auto& named : read->list) {
    auto graph = graph_of(*read, named.name);
    if (!graph.ok() && !(named.topology == SlurmTopology())) __builtin_trap();
  }
  return 0;
}
