// SPDX-License-Identifier: Apache-2.0

#include "tests/fuzz/fuzz.h"
#include "topology/formats/nccl_xml.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace weir::topology;
  Notes notes;
  auto file = read_nccl_xml({"fuzz", text_of(data, size)}, &notes);
  if (!file.ok()) return 0;
  const std::string text = write_nccl_xml(*file);
  notes.clear();
  auto again = read_nccl_xml({"written", text}, &notes);
  require(again.ok() && *again == *file);
  return 0;
}
