// SPDX-License-Identifier: Apache-2.0
// Unique ids, and the lists of ranks of a shrink.
#include "src/core/bootstrap/agreement.h"
#include "src/core/call/unique_id.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace weir;
  using namespace weir::core;
  const BytesView bytes = bytes_of(data, size);
  const auto list = read_list(bytes);
  require(list.ranks.size() <= size / sizeof(Rank));
  require(read_list(write_list(list.number, list.ranks)).ranks == list.ranks);
  (void)UniqueId::decode(bytes);
  return 0;
}
