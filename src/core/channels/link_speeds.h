// SPDX-License-Identifier: Apache-2.0
/// Measures the speed of each link of a rank over the network again and again, and says when one has become
/// durably slower than it was (speed_record.h): in the log, and through the Activity in reports.
///
/// A look takes a system call per connection. It comes at most every kEveryNs, and so rarely that looks take
/// at most 1/200 of the time. Only transports whose connections the kernel knows are measured (tcp).
///
/// note() belongs to the thread that carries operations out; the activity asks on any thread.
/// Tests: tests/core/speed_record_test.cc
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "src/core/channels/speed_record.h"
#include "src/core/diagnosis/activity_registry.h"
#include "src/net/connection_state.h"
#include "transports/transport.h"

namespace weir::core {

class LinkSpeeds {
 public:
  static constexpr int64_t kEveryNs = 50'000'000;

  /// All arguments outlive the object. `self`: this rank.
  LinkSpeeds(Activity& activity, Rank self, const std::vector<std::unique_ptr<Transport>>& transports);
  ~LinkSpeeds();
  LinkSpeeds(const LinkSpeeds&) = delete;
  LinkSpeeds& operator=(const LinkSpeeds&) = delete;

  /// Whether there is anything to measure.
  bool measures() const { return !networks_.empty(); }
  /// A call with `bytes` begins that may use channels; those before it are done. Nearly always two additions.
  void note(size_t bytes) {
    bytes_ += bytes;
    if ((++calls_ & 7) == 0) [[unlikely]]
      look();
  }

 private:
  /// What a connection had carried at the last look, by its number in its ConnectionSet.
  using Counted = std::map<uint64_t, ConnectionUse>;
  struct Network {
    std::string name;
    const ConnectionSet* connections;
    Counted counted;
  };

  void look();
  void measure(Network& network, const SpeedRecord::Kind& calls);
  std::vector<LinkSpeed> speeds() const;
  struct Link {
    std::string over;  ///< LinkSpeed::over
    SpeedRecord record;
  };
  LinkSpeed speed_of(const std::string& transport, Rank peer, const Link& link) const;

  Activity& activity_;
  const Rank self_;
  std::vector<Network> networks_;
  uint64_t bytes_ = 0;  ///< of the calls since the last look
  uint64_t calls_ = 0;  ///< all calls
  int64_t next_ns_ = 0;
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, Rank>, Link> links_;  ///< guarded by mutex_
  uint64_t looked_calls_ = 0;                           ///< calls_ at the last look; guarded by mutex_
};

}  // namespace weir::core
