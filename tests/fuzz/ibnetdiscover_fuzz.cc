// SPDX-License-Identifier: Apache-2.0

#include "topology/formats/ibnetdiscover.h"

#include <cstddef>
#include <cstdint>

#include "tests/topology/writers.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace weir::topology;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Notes notes;
  auto read = read_ibnetdiscover({"fuzz", text}, &notes);
  if (!read.ok()) return 0;
  const std::string written = write_ibnetdiscover(*read);
  auto again = read_ibnetdiscover({"again", written});
  if (!again.ok() || !(*again == *read)) __builtin_trap();
  auto graph = graph_of(*read, &notes);
  if (!graph.ok()) __builtin_trap();
  return 0;
}
