// SPDX-License-Identifier: Apache-2.0
// Bytes as a file of any format: what is read strictly is read with notes too, into the same graph, without a
// note; and assumed rates leave the graph sound.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "topology/formats/any.h"
#include "topology/model/assumed_rates.h"
#include "topology/model/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace weir::topology;
  const Source source{"fuzz", std::string_view(reinterpret_cast<const char*>(data), size)};
  Notes notes;
  const auto strict = read_any(source);
  auto graph = read_any(source, &notes);
  if (strict.ok() && (!graph.ok() || !notes.empty() || !(*graph == *strict))) __builtin_trap();
  if (!graph.ok()) return 0;
  assume_rates(*graph);
  if (!check(*graph).ok()) __builtin_trap();
  for (const Link& link : graph->links()) {
    if (!(link.gb_per_s > 0)) __builtin_trap();
  }
  return 0;
}
