// SPDX-License-Identifier: Apache-2.0

#include "trainer/run/newcomer_listener.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <utility>

#include "trainer/run/common_options.h"

namespace weir::trainer {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kGreeting = std::chrono::seconds(20);               ///< for a newcomer to say its options
constexpr auto kAnswer = std::chrono::seconds(10);                 ///< for one that waits to answer
constexpr auto kBetweenMeetings = std::chrono::milliseconds(500);  ///< after a meeting that failed
constexpr uint64_t kMostOptions = 1 << 20;                         ///< bytes

GivesUp in_time(Clock::duration time) {
  return [end = Clock::now() + time] { return Clock::now() > end; };
}

Verdict verdict_on(const std::string& own, const std::string& theirs) {
  Verdict verdict;
  const std::array<std::string, 2> options{own, theirs};
  const std::array<std::string, 2> where{"in the job", "in this process"};
  const std::string differs = differences(options, where);
  verdict.accepted = differs.empty() ? 1 : 0;
  differs.copy(verdict.text, sizeof verdict.text - 1);
  return verdict;
}

}  // namespace

NewcomerListener::NewcomerListener(std::string address, std::string options)
    : address_(std::move(address)), options_(std::move(options)), thread_([this] { serve(); }) {}

NewcomerListener::~NewcomerListener() {
  closed_ = true;
  changed_.notify_all();
  thread_.join();
  Call end;
  end.kind = Call::end;
  for (PeerLink& link : waiting_) (void)link.send(&end, sizeof end, in_time(kAnswer));
}

void NewcomerListener::set_others(const std::string& addresses) {
  const std::lock_guard lock(mutex_);
  others_ = addresses;
}

/// The port may still be in use by another process of this host, and a newcomer may have died half way.
void NewcomerListener::pause() {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, kBetweenMeetings, [this] { return closed_.load(); });
}

void NewcomerListener::serve() {
  while (!closed_) {
    auto link = PeerLink::open(address_, 0, [this] { return closed_.load(); });
    if (!link.ok() || !greet(*link).ok()) {
      pause();
      continue;
    }
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(*link));
    news_ = true;
  }
}

/// An error if it was not let in.
Status NewcomerListener::greet(PeerLink& link) {
  const GivesUp late = in_time(kGreeting);
  const GivesUp gives_up = [&] { return closed_ || late(); };
  uint64_t size = 0;
  WEIR_TRY(link.receive(&size, sizeof size, gives_up));
  if (size > kMostOptions) return Status(Code::invalid_argument, "options of a newcomer that are too long");
  std::string options(size, '\0');
  WEIR_TRY(link.receive(options.data(), size, gives_up));
  Verdict verdict = verdict_on(options_, options);
  if (verdict.accepted != 0) {
    const std::lock_guard lock(mutex_);
    others_.copy(verdict.text, sizeof verdict.text - 1);
  }
  WEIR_TRY(link.send(&verdict, sizeof verdict, gives_up));
  if (verdict.accepted == 0) return Status(Code::invalid_argument, "other options");
  return link.wait_long();
}

int NewcomerListener::count_present() {
  const std::lock_guard lock(mutex_);
  news_ = false;
  std::erase_if(waiting_, [](PeerLink& link) {
    const Call call;
    int32_t there = 0;
    const GivesUp late = in_time(kAnswer);
    return !link.send(&call, sizeof call, late).ok() || !link.receive(&there, sizeof there, late).ok();
  });
  return static_cast<int>(waiting_.size());
}

void NewcomerListener::let_go(int count, Call call) {
  const std::lock_guard lock(mutex_);
  const auto end = waiting_.begin() + std::min<ptrdiff_t>(count, std::ssize(waiting_));
  for (auto link = waiting_.begin(); link != end; ++link, ++call.rank)
    (void)link->send(&call, sizeof call, in_time(kAnswer));
  waiting_.erase(waiting_.begin(), end);
}

}  // namespace weir::trainer
