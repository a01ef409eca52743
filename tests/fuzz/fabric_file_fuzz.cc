// SPDX-License-Identifier: Apache-2.0

#include "topology/formats/fabric_file.h"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace weir::topology;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Notes notes;
  auto read = read_fabric_file({"fuzz", text}, &notes);
  if (!read.ok()) return 0;
  size_t parts = read->hosts.size();
  for (const FabricSwitches& one : read->switches) parts += one.names.size();
  for (const FabricCable& one : read->cables) parts += one.from.size() * one.to.size();
  for (const FabricAttachment& one : read->attachments)
    parts += one.hosts.size() * (one.nics.size() + one.switches.size());
  if (parts > 20'000) return 0;  // larger ones only take time
  const std::string written = write_fabric_file(*read);
  auto again = read_fabric_file({"again", written});
  if (!again.ok() || !(*again == *read)) __builtin_trap();
  auto graph = graph_of(*read);
  if (!graph.ok()) __builtin_trap();
  const FabricFile found = fabric_of(*graph);
  auto found_again = read_fabric_file({"found", write_fabric_file(found)});
  if (!found_again.ok() || !(*found_again == found)) __builtin_trap();
  return 0;
}
