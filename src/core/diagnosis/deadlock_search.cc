// SPDX-License-Identifier: Apache-2.0

#include "src/core/diagnosis/deadlock_search.h"

#include <utility>

#include "src/core/diagnosis/failure_relay.h"

namespace weir::core {

bool DeadlockSearch::look(std::optional<ActivityReport>& found) {
  if (at_.listener == origin_.listener) {
    found = activities_.report(at_.uid, at_.rank, 0);
    return true;
  }
  if (inquiry_ == nullptr)
    inquiry_ = std::make_unique<Inquiry>(at_.listener, at_.uid, origin_.credentials,
                                         ActivityRegistry::question(at_.rank, 0));
  if (!inquiry_->advance()) return false;
  const Answer answer = std::exchange(inquiry_, nullptr)->take();
  if (answer.kind == Answer::Kind::given) found = ActivityRegistry::read_report(answer.bytes);
  return true;
}

DeadlockSearch::State DeadlockSearch::advance() {
  while (waits_.size() < kMostSteps) {
    std::optional<ActivityReport> found;
    if (!look(found)) return State::unknown;
    if (!found || !found->thread_wait) return State::open;
    waits_.push_back({found->thread_wait->uid, at_.listener, found->thread_wait->listener});
    at_ = *found->thread_wait;
    least_wait_ns_ = std::min(least_wait_ns_, at_.waiting_ns);
    words_ += ", which " + at_.words;
    if (at_.uid == origin_.uid && at_.waiter == origin_.rank) return State::closed;
  }
  return State::open;
}

void DeadlockSearch::tell(const Failure& failure) const {
  std::vector<std::unique_ptr<Inquiry>> notices;
  for (const Wait& wait : waits_) {
    for (const SocketAddress& listener : {wait.waiter, wait.awaited}) {
      if (listener == origin_.listener)
        activities_.fail(wait.uid, failure);
      else
        notices.push_back(std::make_unique<Inquiry>(listener, wait.uid, origin_.credentials,
                                                    ActivityRegistry::notice(failure)));
    }
  }
  (void)answers_of(std::move(notices), Deadline::in_ms(kTellMs));
}

}  // namespace weir::core
