// SPDX-License-Identifier: Apache-2.0

#include "tests/fuzz/fuzz.h"
#include "topology/model/wire.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace weir;
  ByteReader reader({reinterpret_cast<const std::byte*>(data), size});
  auto graph = topology::get_graph(reader);
  if (!graph.ok()) return 0;
  ByteWriter writer;
  topology::put_graph(writer, *graph);
  const Bytes written = writer.take();
  ByteReader again(written);
  const auto same = topology::get_graph(again);
  require(same.ok());
  return 0;
}
