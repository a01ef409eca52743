// SPDX-License-Identifier: Apache-2.0
/// Tries abandoned queue pairs of a channel's sender again: with growing pauses, both ends make a new queue
/// pair in the place of the old one, and use it once probes have crossed it in both directions.
///
/// The ends agree over the connection that has set the channel up. Not thread-safe. Nothing blocks.
/// Tests: tests/transports/verbs_failback_test.cc
#pragma once

#include <cstdint>
#include <vector>

#include "src/base/bytes.h"
#include "transports/setup_connection.h"
#include "transports/verbs/queue_pairs.h"

namespace weir::verbs {

class VerbsFailback {
 public:
  /// A queue pair is tried after the first pause, and after a failed attempt when twice the last pause has
  /// passed, up to this; so is one that works no longer than kTrialNs before it is abandoned again.
  static constexpr int64_t kLongestPauseNs = 30'000'000'000;
  static constexpr int64_t kTrialNs = 60'000'000'000;
  /// An attempt may take so many first pauses: the peer may be computing.
  static constexpr int64_t kPausesPerAttempt = 10;

  /// `name` is the name of the channel, for the log. All arguments outlive the object.
  VerbsFailback(QueuePairs& queue_pairs, SetupConnection& connection, const std::string& name,
                int64_t first_pause_ns)
      : queue_pairs_(queue_pairs), connection_(connection), name_(name), first_pause_ns_(first_pause_ns) {}

  /// This end has abandoned the queue pair.
  void lost(uint32_t queue_pair, int64_t now);
  /// Continues attempts, and begins those that are due.
  void advance(int64_t now);
  /// The payload of a frame `reopened`. False if it is not one.
  bool answered(const Bytes& payload);
  void regained(uint32_t queue_pair, int64_t now);

 private:
  struct Place {
    uint32_t attempt = 0;
    bool trying = false;
    int64_t lost_ns = 0;
    int64_t regained_ns = 0;  // 0: it was never lost
    int64_t pause_ns = 0;
    int64_t next_ns = 0;  // time of the next attempt, or of the end of this one
  };

  void begin(uint32_t queue_pair, int64_t now);
  void fail(uint32_t queue_pair, int64_t now);

  QueuePairs& queue_pairs_;
  SetupConnection& connection_;
  const std::string& name_;
  const int64_t first_pause_ns_;
  std::vector<Place> places_;  // by queue pair; none before the first was lost
};

/// The receiver's side: answers a frame `reopen` over the connection. False if the payload is not one.
bool answer_attempt(QueuePairs& queue_pairs, QueuePairUser& user, SetupConnection& connection,
                    const Bytes& payload);
/// The payload of a frame `abandon` has come. False if it is not one.
bool abandon_attempt(QueuePairs& queue_pairs, QueuePairUser& user, const Bytes& payload);

}  // namespace weir::verbs
