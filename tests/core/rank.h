/// What a process needs to take part in a communicator, without everything above bootstrap.
#pragma once

#include <memory>

#include "src/core/bootstrap.h"

namespace weir::testing {

/// One per process; its ranks may be threads.
struct Site {
  explicit Site(const core::Timeouts& times = {}) : timeouts(times) {
    auto opened = Door::open(SocketAddress::loopback(AF_INET, 0), [this](uint64_t scope, BytesView question) {
      return watch.answer(scope, question);
    });
    door = std::move(*opened);
  }

  core::Bootstrap::Spec spec(const core::UniqueId& id, int ranks, int rank, uint64_t host = 1) {
    core::Bootstrap::Spec out;
    out.id = id;
    out.ranks = ranks;
    out.rank = rank;
    out.door = door;
    out.watch = &watch;
    out.roots = &roots;
    out.host = host;
    out.timeouts = timeouts;
    return out;
  }

  core::Watch watch;
  core::Roots roots;
  std::shared_ptr<Door> door;
  core::Timeouts timeouts;
};

inline Bytes to_bytes(std::string_view text) {
  const auto* raw = reinterpret_cast<const std::byte*>(text.data());
  return Bytes(raw, raw + text.size());
}
inline std::string to_text(BytesView bytes) {
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace weir::testing
