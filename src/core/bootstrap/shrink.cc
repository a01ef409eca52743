// SPDX-License-Identifier: Apache-2.0
// The part of Bootstrap that continues without ranks.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <thread>

#include "src/base/host.h"
#include "src/base/log.h"
#include "src/core/bootstrap/agreement.h"
#include "src/core/bootstrap/bootstrap.h"
#include "src/net/listener/inquiry.h"

namespace weir::core {
namespace {

constexpr size_t kAtOnce = 256;  ///< number of ranks that are asked at the same time

std::vector<Rank> all_but(const std::vector<Rank>& excluded, int ranks) {
  std::vector<Rank> members;
  for (Rank rank = 0; rank < ranks; ++rank)
    if (!std::ranges::binary_search(excluded, rank)) members.push_back(rank);
  return members;
}

Presence presence_of(const ActivityReport& report) {
  return report.presence == ActivityReport::Presence::left ? Presence::left : Presence::present;
}

Presence presence_of(const Answer& answer) {
  if (answer.kind == Answer::Kind::refused) return Presence::dead;
  const auto report =
      answer.kind == Answer::Kind::given ? ActivityRegistry::read_report(answer.bytes) : std::nullopt;
  return report ? presence_of(*report) : Presence::silent;
}

}  // namespace

/// Ranks that have shrunk the communicator less often than others, as they were not asked, catch up. The uid
/// of a shrink is therefore not over for them when it is for others, who do not say that they have left it,
/// unless it has failed.
Result<uint64_t> Bootstrap::agree_without(const std::vector<Rank>& excluded, const std::atomic<bool>* abort) {
  const auto job_key = static_cast<uint32_t>(uid_ >> 32);
  for (uint32_t number = shrinks_ + 1;;) {
    shrinks_ = number;
    const uint64_t uid = uid_in_job(job_key, hash_text(fmt::format("{:x} shrink {}", uid_, number)));
    auto activity = spec_.activities->enter(uid, rank_);
    activity->exchange();
    Watchdog watchdog({uid, rank_, watchdog_->shared_peers(), spec_.activities, activity, spec_.timeouts,
                       abort, spec_.credentials()});
    const Result<uint32_t> agreed = agree({spec_.listener.get(), uid_, number, spec_.credentials(), rank_,
                                           excluded, &watchdog, spec_.timeouts.init_ms, abort});
    activity->leave();
    spec_.activities->leave(uid, rank_, !agreed.ok());
    WEIR_TRY(agreed.status());
    if (*agreed == number) return uid;
    number = *agreed;
  }
}

Result<std::unique_ptr<Bootstrap>> Bootstrap::without(Bootstrap& parent, const std::vector<Rank>& excluded,
                                                      const std::atomic<bool>* abort) {
  const Result<uint64_t> agreed = parent.agree_without(excluded, abort);
  WEIR_TRY(agreed.status());
  const std::vector<Rank> members = all_but(excluded, parent.size());
  WEIR_INFO(bootstrap, "rank {} continues with {} of {} ranks, without {}", parent.rank_, members.size(),
            parent.size(), rank_words(excluded));
  // Two ranks that exclude each other make two communicators, maybe in one process, so their uids must
  // differ.
  const std::string who = fmt::format("{:x} remaining {}", *agreed, fmt::join(members, " "));
  return subset(parent, members, uid_in_job(static_cast<uint32_t>(parent.uid_ >> 32), hash_text(who)), abort);
}

std::vector<Presence> Bootstrap::presences() const {
  std::vector<Presence> found(peers().size(), Presence::silent);
  std::vector<Rank> asked;
  for (Rank rank = 0; rank < size(); ++rank) {
    if (peers()[static_cast<size_t>(rank)].listener == spec_.listener->address())
      found[static_cast<size_t>(rank)] = presence_of(spec_.activities->report(uid_, rank, 0));
    else
      asked.push_back(rank);
  }
  for (std::span<const Rank> rest(asked); !rest.empty();) {
    const std::span<const Rank> now = rest.first(std::min(rest.size(), kAtOnce));
    ask(now, found);
    rest = rest.subspan(now.size());
  }
  return found;
}

/// Asks each rank at its first listener, and at the next one while that does not answer.
void Bootstrap::ask(std::span<const Rank> ranks, std::vector<Presence>& found) const {
  struct Asked {
    Rank rank;
    size_t listener = 0;
    std::unique_ptr<Inquiry> inquiry = nullptr;
  };
  std::vector<Asked> open;
  size_t listeners = 1;
  for (const Rank rank : ranks) {
    open.push_back({rank});
    listeners = std::max(listeners, 1 + peers()[static_cast<size_t>(rank)].other_listeners.size());
  }
  for (size_t listener = 0; listener < listeners && !open.empty(); ++listener) {
    for (Asked& asked : open) {
      const PeerAddress& peer = peers()[static_cast<size_t>(asked.rank)];
      if (listener > peer.other_listeners.size()) continue;
      const SocketAddress& at = listener == 0 ? peer.listener : peer.other_listeners[listener - 1];
      asked.inquiry =
          std::make_unique<Inquiry>(at, uid_, spec_.credentials(), ActivityRegistry::question(asked.rank, 0));
    }
    const Deadline deadline = Deadline::in_ms(spec_.timeouts.peer_ms / static_cast<int64_t>(listeners));
    const int64_t stopped_ns = now_ns() + spec_.timeouts.stopped_ms() * kNsPerMs;
    const auto is_known = [&](Asked& asked) {
      if (!asked.inquiry->advance()) {
        const bool late = now_ns() > stopped_ns;
        const ProcessState state = late ? watchdog_->state_here(asked.rank) : ProcessState::unknown;
        if (state == ProcessState::gone) found[static_cast<size_t>(asked.rank)] = Presence::dead;
        return state == ProcessState::gone || state == ProcessState::stopped;
      }
      const Presence presence = presence_of(asked.inquiry->take());
      found[static_cast<size_t>(asked.rank)] = presence;
      return presence != Presence::silent;
    };
    while (!open.empty() && !deadline.over()) {
      std::erase_if(open, is_known);
      if (!open.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
}

}  // namespace weir::core
