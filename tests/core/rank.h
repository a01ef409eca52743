// SPDX-License-Identifier: Apache-2.0
/// What a process needs to take part in a communicator, without everything above bootstrap.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "src/base/host.h"
#include "src/core/bootstrap/bootstrap.h"
#include "src/core/bootstrap/root_link.h"
#include "tests/core/processes.h"

namespace weir::testing {

/// With which ranks that are lost are soon noticed.
inline constexpr core::Timeouts kQuick{.init_ms = 20'000, .peer_ms = 2000, .stuck_ms = 0};

/// One per process; its ranks may be threads.
struct Site {
  explicit Site(const core::Timeouts& times = {}) : timeouts(times) {
    auto opened = Listener::open(
        SocketAddress::loopback(AF_INET, 0),
        [this](uint64_t scope, BytesView question) { return activities.answer(scope, question); });
    listener = std::move(*opened);
  }

  core::Bootstrap::Spec spec(const core::UniqueId& id, int ranks, int rank, uint64_t host = 1) {
    core::Bootstrap::Spec out;
    out.id = id;
    out.ranks = ranks;
    out.rank = rank;
    out.listener = listener;
    out.activities = &activities;
    out.roots = &roots;
    out.all_gathers = &all_gathers;
    out.host = host;
    out.timeouts = timeouts;
    return out;
  }

  core::ActivityRegistry activities;
  core::Roots roots;
  core::BootstrapAllGathers all_gathers;
  std::shared_ptr<Listener> listener;
  core::Timeouts timeouts;
};

/// A unique id whose root runs in a process of its own, so that the test's process stays without threads and
/// may fork.
class RootProcess {
 public:
  explicit RootProcess(const core::Timeouts& timeouts = {})
      : process_(1, [&](int, const Processes::Voice& voice) {
          core::Roots roots;
          auto id = roots.make_id(SocketAddress::loopback(AF_INET, 0), timeouts);
          std::string said;
          for (const std::byte byte : id->encode()) said += fmt::format("{:02x}", std::to_integer<int>(byte));
          voice.say(said);
          pause();
        }) {
    const std::string said = process_.line(0);
    Bytes bytes;
    for (size_t i = 0; i + 1 < said.size(); i += 2)
      bytes.push_back(static_cast<std::byte>(std::stoi(said.substr(i, 2), nullptr, 16)));
    id_ = *core::UniqueId::decode(bytes);
  }
  const core::UniqueId& id() const { return id_; }

 private:
  Processes process_;
  core::UniqueId id_;
};

/// A rank that has come to the root, which knows it by then, and goes no further by itself.
inline Result<std::unique_ptr<core::RootLink>> come_to_the_root(const Site& site, const core::UniqueId& id,
                                                                int ranks, int rank) {
  core::root_wire::Hello hello;
  hello.nonce = id.nonce;
  hello.rank = rank;
  hello.ranks = ranks;
  hello.peer = {site.listener->address(), 1, static_cast<int32_t>(getpid()), short_hostname()};
  // As Bootstrap::join: others may ask at this listener as soon as the root has given them its address.
  site.listener->admit(core::job_key_of(id), id.secret);
  return core::RootLink::open(id, id.secret, hello, site.timeouts, nullptr);
}

/// Below the ports that the kernel gives away by itself, so that no connection of another test takes it.
inline SocketAddress quiet_address() {
  for (int port = 20000 + getpid() % 10000;; ++port) {
    const auto address = SocketAddress::loopback(AF_INET, static_cast<uint16_t>(port));
    if (Socket::listen(address).ok()) return address;
  }
}

inline Bytes to_bytes(std::string_view text) {
  const auto* raw = reinterpret_cast<const std::byte*>(text.data());
  return Bytes(raw, raw + text.size());
}
inline std::string to_text(BytesView bytes) {
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace weir::testing
