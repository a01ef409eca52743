// SPDX-License-Identifier: Apache-2.0
// Bytes as hwloc's XML: what is read comes back the same from its own text, and its graph is made.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tests/topology/writers.h"
#include "topology/formats/hwloc_xml.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace weir::topology;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const Source source{"fuzz", bytes};
  Notes notes;
  const bool strict = read_hwloc_xml(source).ok();
  auto first = read_hwloc_xml(source, &notes);
  if (strict && (!first.ok() || !notes.empty())) __builtin_trap();
  if (!first.ok()) return 0;
  const std::string text = write_hwloc_xml(*first);
  auto second = read_hwloc_xml({"written", text}, &notes);
  if (!second.ok() || !(*second == *first)) __builtin_trap();
  if (graph_of(*first).ok() && !graph_of(*first, &notes).ok()) __builtin_trap();
  return 0;
}
