// SPDX-License-Identifier: Apache-2.0
// The frames of ranks and their root: those of strangers, and those of ranks of the job.

#include "src/core/bootstrap/root_wire.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace weir;
  using namespace weir::core;
  const BytesView frame(reinterpret_cast<const std::byte*>(data), size);
  (void)root_wire::decode_challenge(frame);
  (void)root_wire::Welcome::decode(frame);
  (void)root_wire::decode_failed(frame);
  require(!root_wire::Hello::is_proven(frame, Secret::from_text("unknown to the fuzzer"), {}));
  const auto hello = root_wire::Hello::decode(frame);
  if (hello) (void)hello->peer.describe(hello->rank);
  if (hello && hello->protocol == root_wire::kProtocol) {
    const auto again = root_wire::Hello::decode(hello->encode());
    require(again && again->peer.hostname == hello->peer.hostname && again->proof == hello->proof);
  }
  if (const auto listeners = root_wire::Listeners::decode(frame)) {
    const auto again = root_wire::Listeners::decode(listeners->encode());
    require(again && again->below == listeners->below);
  }
  if (const auto hellos = root_wire::Hellos::decode(frame)) {
    const auto again = root_wire::Hellos::decode(hellos->encode());
    require(!hellos->hellos.empty() || (again && again->hellos.empty()));
  }
  if (const auto all = root_wire::AllListeners::decode(frame)) {
    const auto again = root_wire::AllListeners::decode(all->encode());
    require(again && again->uid == all->uid && again->listeners == all->listeners);
  }
  return 0;
}
