// SPDX-License-Identifier: Apache-2.0

#include "topology/formats/hostlist.h"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace weir::topology;
  size_t budget = 10000;
  auto names = expand_hostlist({reinterpret_cast<const char*>(data), size}, budget);
  if (!names.ok()) return 0;
  budget = 10000;
  auto again = expand_hostlist(compress_hostlist(*names), budget);
  if (!again.ok() || again.value() != names.value()) __builtin_trap();
  return 0;
}
