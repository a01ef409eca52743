// SPDX-License-Identifier: Apache-2.0
// The part of World that continues after ranks are lost.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "trainer/run/world.h"
#include "trainer/shard/calls.h"
#include "weir/failures.h"

namespace weir::trainer {
namespace {

using Clock = std::chrono::steady_clock;

// A dying rank is noticed by its broken connections before its process is gone, and a rank that failed for
// another reason ends only after it has reported that.
constexpr auto kLooksFor = std::chrono::seconds(10);
constexpr auto kBetweenLooks = std::chrono::milliseconds(100);
constexpr int kAttempts = 10;  ///< ranks may see further ranks die while they regroup

struct View {
  std::vector<int> gone;
  int present = 0;
  int unknown = 0;  ///< number of ranks that are gone but may continue without this rank
  std::string words;
};

Result<View> look(ncclComm_t comm, int ranks) {
  std::vector<int> states(static_cast<size_t>(ranks));
  WEIR_TRY(shard::checked(weirCommRankStates(comm, states.data()), "querying the states of the ranks"));
  View view;
  for (int rank = 0; rank < ranks; ++rank) {
    const int state = states[static_cast<size_t>(rank)];
    if (state == weirRankPresent) {
      ++view.present;
      continue;
    }
    view.gone.push_back(rank);
    view.unknown += state == weirRankDead ? 0 : 1;
    view.words += fmt::format("{}rank {} {}", view.words.empty() ? "" : ", ", rank,
                              state == weirRankDead     ? "is dead"
                              : state == weirRankSilent ? "does not answer"
                                                        : "has left");
  }
  return view;
}

/// Polls until a rank is gone or the time is up.
Result<View> look_for_the_gone(ncclComm_t comm, int ranks) {
  for (const auto end = Clock::now() + kLooksFor;;) {
    Result<View> view = look(comm, ranks);
    if (!view.ok() || !view->gone.empty() || Clock::now() > end) return view;
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

}  // namespace

/// Goes on with `other`. `failed`: the communicator before it has.
Status World::take(ncclComm_t other, bool failed) {
  ncclComm_t before = std::exchange(comm_, other);
  (void)(failed ? ncclCommAbort(before) : ncclCommDestroy(before));
  WEIR_TRY(shard::checked(ncclCommUserRank(comm_, &rank_), "regrouping"));
  return shard::checked(ncclCommCount(comm_, &ranks_), "regrouping");
}

Result<std::string> World::regroup(const Status& failure) {
  Status last = failure;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    Result<View> view = look_for_the_gone(comm_, ranks_);
    WEIR_TRY(view.status());
    if (view->gone.empty()) return last;
    // If a network partition separates the ranks, only one side may continue.
    if (view->present <= view->unknown)
      return Status(
          Code::remote_error,
          fmt::format("{}; {} of {} ranks are left, and as many or more may have continued without them: {}",
                      view->words, view->present, ranks_, failure.message()));
    ncclComm_t smaller = nullptr;
    last = shard::checked(ncclCommShrink(comm_, view->gone.data(), static_cast<int>(view->gone.size()),
                                         &smaller, nullptr, NCCL_SHRINK_ABORT),
                          "regrouping");
    if (!last.ok()) continue;
    WEIR_TRY(take(smaller, true));
    newcomers_ = 0;
    last = settle_listeners();
    if (!last.ok()) continue;
    return fmt::format("{}; {} ranks continue", view->words, ranks_);
  }
  return last;
}

}  // namespace weir::trainer
