// SPDX-License-Identifier: Apache-2.0
/// A walk of a watchdog from rank to rank along the chain of waits, with the inquiry in flight; for
/// watchdog.cc only.
///
/// Not thread-safe. Nothing blocks.
/// Tests: tests/core/watchdog_test.cc, tests/core/silence_test.cc
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "src/base/bytes.h"
#include "src/base/clock.h"
#include "src/base/scheduling_delay.h"
#include "src/core/call/peer_address.h"
#include "src/core/diagnosis/activity_registry.h"
#include "src/core/diagnosis/indirect_probe.h"
#include "src/core/diagnosis/rank_finding.h"
#include "src/net/listener/inquiry.h"

namespace weir::core {

class WaitChain {
 public:
  explicit WaitChain(std::vector<Rank> first) : ranks_(std::move(first)), own_(ranks_.size()) {}

  Rank at() const { return ranks_[at_]; }
  /// Whether this rank itself waits for the current one.
  bool is_direct() const { return at_ < own_; }
  /// Appends ranks to visit, each once.
  void add(const std::vector<Rank>& ranks, Rank except) {
    complete_ = complete_ && ranks.size() <= Activity::kAlso && ranks_.size() < kMostMet;
    if (ranks_.size() >= kMostMet) return;
    for (const Rank rank : ranks) {
      if (rank != except && std::ranges::find(ranks_, rank) == ranks_.end()) ranks_.push_back(rank);
    }
  }
  /// True if no rank was skipped that may block the others.
  bool complete() const { return complete_; }
  /// Moves to the next rank; false if there is none.
  bool go_on() {
    if (at_ + 1 == ranks_.size()) return false;
    ++at_;
    ask_again();
    return true;
  }
  /// Notes a rank that runs and does not wait; prefers one that is in no call.
  void note(const RankFinding& slow) {
    if (!slow_ || (slow.absent && !slow_->absent)) slow_ = slow;
    if (slow.thread_wait && !blocked_) blocked_ = slow;
  }
  const std::optional<RankFinding>& slow() const { return slow_; }
  /// A rank whose thread waits in another communicator.
  const std::optional<RankFinding>& blocked() const { return blocked_; }
  /// Notes how long a visited rank has waited.
  void note_wait(int64_t ns) { least_wait_ns_ = std::min(least_wait_ns_, ns); }
  /// Notes what a visited rank says of its connections; prefers data that are lost.
  void note_network(Rank rank, const NetworkFinding& found) {
    if (found.words.empty() || (network_ && (network_->second.lost || !found.lost))) return;
    network_ = {rank, found};
  }
  const std::optional<std::pair<Rank, NetworkFinding>>& network() const { return network_; }
  int64_t least_wait_ns() const { return least_wait_ns_; }

  /// The answer of the current rank, once it has arrived or `silence_ns` have passed, divided evenly among
  /// its listeners. They pass anew, up to kMostSilences times in all, from when a process of its host has
  /// said that it runs. Repeats an inquiry that could not be sent (no route, no descriptors).
  std::optional<Answer> ask(const PeerAddress& peer, uint64_t uid, const Credentials& credentials,
                            const Bytes& question, int64_t now, int64_t silence_ns) {
    if (inquiry_ == nullptr && now < retry_ns_) return std::nullopt;
    if (asked_ns_ == 0) asked_ns_ = now;
    const auto listeners = static_cast<int64_t>(1 + peer.other_listeners.size());
    const int64_t due = std::min((now - asked_ns_) * listeners / silence_ns, listeners - 1);
    const int64_t listener = std::max(due, listener_);  // the time may have become longer
    if (inquiry_ == nullptr || listener != listener_) {
      inquiry_ = std::make_unique<Inquiry>(
          listener == 0 ? peer.listener : peer.other_listeners[static_cast<size_t>(listener - 1)], uid,
          credentials, question);
      listener_ = listener;
    }
    const bool in_time = now - std::max(asked_ns_, seen_running_ns()) < silence_ns &&
                         now - asked_ns_ < kMostSilences * silence_ns;
    if (!inquiry_->advance() && in_time) return std::nullopt;
    Answer answer = inquiry_->take();
    const bool asked = answer.kind != Answer::Kind::silent && answer.kind != Answer::Kind::unasked;
    if (!asked && in_time) {
      inquiry_.reset();
      retry_ns_ = now + kRetryNs;
      return std::nullopt;
    }
    return answer;
  }
  /// Makes the next ask() start a new inquiry.
  void ask_again() {
    inquiry_.reset();
    probe_.reset();
    indirect_.reset();
    asked_ns_ = 0;
    listener_ = 0;
    looked_ns_ = 0;
  }
  /// How long the current rank has not answered.
  int64_t silent_ns(int64_t now) const { return asked_ns_ == 0 ? 0 : now - asked_ns_; }
  /// Whether it is time to ask the kernel about the current rank (again).
  bool may_look(int64_t now) {
    if (now - looked_ns_ < kLookNs) return false;
    looked_ns_ = now;
    return true;
  }
  /// Asks this process's own listener meanwhile, to see how late this process runs.
  void measure(const SocketAddress& own, uint64_t uid, const Credentials& credentials, const Bytes& question,
               int64_t now, SchedulingDelay& delay) {
    if (probe_ == nullptr) {
      probe_ = std::make_unique<Inquiry>(own, uid, credentials, question);
      probed_ns_ = now;
      (void)probe_->advance();
      return;
    }
    if (!probe_->done()) (void)probe_->advance();
    delay.note(probe_done_ ? 0 : now - probed_ns_ - kPromptNs);
    probe_done_ = probe_->done();
    if (probe_done_ && now - probed_ns_ > kLookNs) {
      probe_.reset();
      probe_done_ = false;
    }
  }
  /// Asks other processes of the current rank's host for its state, each for up to `grace_ns`.
  ProcessState ask_witnesses(const std::vector<PeerAddress>& peers, uint64_t uid,
                             const Credentials& credentials, int64_t now, int64_t grace_ns) {
    if (indirect_ == nullptr) indirect_ = std::make_unique<IndirectProbe>(peers, at());
    indirect_->advance(uid, credentials, now, grace_ns);
    return indirect_->state();
  }
  /// The rank that has said of the current one that its process runs; negative: none.
  Rank witness() const { return seen_running_ns() > 0 ? indirect_->witness() : -1; }
  void forgive(int64_t stalled_ns) { asked_ns_ += stalled_ns; }

 private:
  /// When another process has last seen the current rank's run; 0: never.
  int64_t seen_running_ns() const {
    const bool runs = indirect_ != nullptr && indirect_->state() == ProcessState::runs;
    return runs ? indirect_->answered_ns() : 0;
  }

  static constexpr int64_t kMostSilences = 4;
  static constexpr int64_t kRetryNs = 200 * kNsPerMs;
  static constexpr size_t kMostMet = 256;  ///< maximum number of ranks in one chase
  /// Between two questions to the kernel, or to the own listener.
  static constexpr int64_t kLookNs = 250 * kNsPerMs;
  /// An answer of the own listener in this time is no delay: each step waits for the next examine().
  static constexpr int64_t kPromptNs = 500 * kNsPerMs;

  std::vector<Rank> ranks_;  ///< ranks to visit; those before at_ were asked
  const size_t own_;         ///< number of them that this rank itself waits for
  size_t at_ = 0;
  std::optional<RankFinding> slow_, blocked_;
  int64_t least_wait_ns_ = INT64_MAX;
  std::optional<std::pair<Rank, NetworkFinding>> network_;
  bool complete_ = true;
  std::unique_ptr<Inquiry> inquiry_;
  int64_t listener_ = 0;  ///< index of the rank's listener that the inquiry is sent to
  int64_t asked_ns_ = 0;  ///< time of the first inquiry; 0: not yet
  int64_t retry_ns_ = 0;
  int64_t looked_ns_ = 0;
  std::unique_ptr<IndirectProbe> indirect_;
  std::unique_ptr<Inquiry> probe_;  ///< to this process's own listener
  int64_t probed_ns_ = 0;
  bool probe_done_ = false;
};

}  // namespace weir::core
