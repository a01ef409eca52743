// SPDX-License-Identifier: Apache-2.0
// What a stranger sends to a listener, and a false listener to a rank.

#include "src/net/listener/listener_wire.h"
#include "tests/fuzz/fuzz.h"

namespace {

/// What is read is written as the same bytes.
template <typename Message>
void read(weir::BytesView bytes) {
  const auto message = Message::decode(bytes);
  if (!message) return;
  const weir::Bytes written = message->encode();
  require(written.size() == Message::kBytes && bytes.size() >= written.size());
  require(std::memcmp(written.data(), bytes.data(), written.size()) == 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace weir;
  const BytesView bytes(reinterpret_cast<const std::byte*>(data), size);
  read<listener_wire::Opening>(bytes);
  read<listener_wire::Verdict>(bytes);
  read<listener_wire::Hello>(bytes);
  read<listener_wire::MessageHeader>(bytes);
  if (const auto local = listener_wire::LocalAnswer::decode(bytes)) require(local->bytes.size() <= size);
  if (const auto hello = listener_wire::Hello::decode(bytes)) {
    require(!hello->is_proven(Secret::from_text("unknown to the fuzzer"), {}, SocketAddress::loopback(2, 1)));
    require(hello->body <= Listener::kMostBytes);
  }
  return 0;
}
