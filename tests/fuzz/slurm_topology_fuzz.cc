// SPDX-License-Identifier: Apache-2.0

#include "topology/formats/slurm_topology.h"

#include <cstddef>
#include <cstdint>

#include "tests/fuzz/slurm_names.h"
#include "tests/topology/writers.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace weir::topology;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Notes notes;
  auto read = read_slurm_topology({"fuzz", text}, &notes);
  if (!read.ok() || names_in(*read) > 20'000) return 0;  // larger ones only take time
  const std::string written = write_slurm_topology(*read);
  auto again = read_slurm_topology({"again", written}, &notes);
  if (!again.ok() || !(*again == *read)) __builtin_trap();
  auto graph = graph_of(*read);
  if (!graph.ok()) __builtin_trap();
  return 0;
}
