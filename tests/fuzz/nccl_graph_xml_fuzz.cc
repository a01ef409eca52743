// SPDX-License-Identifier: Apache-2.0

#include "tests/fuzz/fuzz.h"
#include "topology/formats/nccl_graph_xml.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace weir::topology;
  Notes notes;
  auto graphs = read_nccl_graph_xml({"fuzz", text_of(data, size)}, &notes);
  if (!graphs.ok()) return 0;
  auto again = read_nccl_graph_xml({"written", write_nccl_graph_xml(*graphs)});
  require(again.ok() && *again == *graphs);
  return 0;
}
