// SPDX-License-Identifier: Apache-2.0
// What ranks and their root send each other while they join, unique ids, and the lists of a shrink.
#include "src/core/bootstrap/agreement.h"
#include "src/core/bootstrap/root_wire.h"
#include "src/core/call/unique_id.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace weir;
  using namespace weir::core;
  const BytesView bytes = bytes_of(data, size);
  if (const auto hello = root_wire::Hello::decode(bytes)) {
    if (hello->protocol == root_wire::kProtocol)
      require(root_wire::Hello::decode(hello->encode()).has_value());
    (void)hello->peer.describe(hello->rank);
    (void)hello->peer.listener.text();
  }
  if (const auto listeners = root_wire::Listeners::decode(bytes))
    require(root_wire::Listeners::decode(listeners->encode())->below == listeners->below);
  require(!root_wire::decode_failed(bytes).ok());
  (void)root_wire::word_of(bytes);
  const auto ranks = read_ranks(bytes);
  require(ranks.size() <= size / sizeof(Rank));
  require(read_ranks(write_ranks(ranks)) == ranks);
  (void)UniqueId::decode(bytes);
  return 0;
}
