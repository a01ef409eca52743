// SPDX-License-Identifier: Apache-2.0

#include "src/core/diagnosis/indirect_probe.h"

#include <algorithm>

#include "src/base/clock.h"
#include "src/core/diagnosis/activity_registry.h"

namespace weir::core {
namespace {

constexpr size_t kMostWitnesses = 3;
constexpr int64_t kPauseNs = 1000 * kNsPerMs;

}  // namespace

IndirectProbe::IndirectProbe(const std::vector<PeerAddress>& peers, Rank silent)
    : peers_(peers), silent_(silent) {
  const auto ranks = static_cast<Rank>(peers.size());
  const PeerAddress& lost = peers[static_cast<size_t>(silent)];
  for (Rank i = 1; i < ranks && witnesses_.size() < kMostWitnesses; ++i) {
    const Rank rank = (silent + i) % ranks;  // other silent ranks have other witnesses
    const PeerAddress& peer = peers[static_cast<size_t>(rank)];
    const bool met = std::ranges::any_of(witnesses_, [&](Rank witness) {
      return peers[static_cast<size_t>(witness)].listener == peer.listener;
    });
    if (peer.host == lost.host && !(peer.listener == lost.listener) && !met) witnesses_.push_back(rank);
  }
}

void IndirectProbe::advance(uint64_t uid, const Credentials& credentials, int64_t now, int64_t grace_ns) {
  if (witnesses_.empty()) return;
  if (inquiry_ == nullptr) {
    if (asked_ns_ > 0 && now - asked_ns_ < kPauseNs) return;
    const PeerAddress& witness = peers_[static_cast<size_t>(witnesses_[at_])];
    inquiry_ = std::make_unique<Inquiry>(witness.listener, uid, credentials,
                                         ActivityRegistry::process_question(silent_));
    asked_ns_ = now;
  }
  if (!inquiry_->advance() && now - asked_ns_ < grace_ns) return;
  const Answer answer = inquiry_->take();
  inquiry_.reset();
  const ProcessState state = answer.kind == Answer::Kind::given
                                 ? ActivityRegistry::read_process_state(answer.bytes)
                                 : ProcessState::unknown;
  if (state == ProcessState::unknown) {
    at_ = (at_ + 1) % witnesses_.size();
    return;
  }
  state_ = state;
  witness_ = witnesses_[at_];
  answered_ns_ = now;
}

}  // namespace weir::core
