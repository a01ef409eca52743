// SPDX-License-Identifier: Apache-2.0
// Bytes as the text of nvidia-smi: what is read comes back the same from its own text, and its graph is made.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tests/topology/writers.h"
#include "topology/formats/nvidia_smi.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace weir::topology;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const Source source{"fuzz", bytes};
  Notes notes;
  const bool strict = read_nvidia_smi(source).ok();
  auto first = read_nvidia_smi(source, &notes);
  if (strict && (!first.ok() || !notes.empty())) __builtin_trap();
  if (!first.ok()) return 0;
  const std::string text = write_nvidia_smi(*first);
  auto second = read_nvidia_smi({"written", text}, &notes);
  if (!second.ok() || !(*second == *first)) __builtin_trap();
  if (graph_of(*first).ok() && !graph_of(*first, &notes).ok()) __builtin_trap();
  return 0;
}
