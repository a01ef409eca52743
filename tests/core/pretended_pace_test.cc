// SPDX-License-Identifier: Apache-2.0

#include "src/core/pretended/pretended_pace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/core/logged.h"

namespace weir::core {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// A cluster of two GPUs, and a clock that only moves when it is told to, or when somebody waits.
class PretendedPaces : public ::testing::Test {
 protected:
  PretendedPaces() {
    auto cluster = PretendedCluster::read("(2 gpu nvswitch 10)");
    times_ = std::move(
        *PretendedTimes::make(std::make_shared<const PretendedCluster>(std::move(*cluster)), {0, 1}));
  }

  PretendedPace pace(Rank rank, double scale = 1, bool shares = true) {
    PretendedPace::Dependencies with;
    with.rank = rank;
    with.scale = scale;
    with.times = times_.get();
    if (shares) with.begins = {&begins_[0], &begins_[1]};
    with.clock.now = [this] { return now_; };
    with.clock.wait = [this](int64_t until, const std::atomic<bool>& aborted) {
      if (!aborted) now_ = std::max(now_, until);
    };
    return PretendedPace(std::move(with));
  }
  static Operation all_reduce(size_t bytes) {
    CollectiveOp operation;
    operation.count = bytes / 4;
    return operation;
  }
  int64_t ns_of(size_t bytes) const {
    return std::llround(*times_->of_collective(Collective::all_reduce, 0, bytes, nullptr) * 1e9);
  }

  static constexpr size_t kBytes = size_t{8} << 20;
  std::unique_ptr<PretendedTimes> times_;
  BeginTimes begins_[2] = {};
  int64_t now_ = 1'000'000'000;
  const std::atomic<bool> goes_on_{false};
};

TEST_F(PretendedPaces, ACallTakesItsTime) {
  PretendedPace own = pace(0);
  const Operation call[] = {all_reduce(kBytes)};
  const int64_t begun = now_;
  own.begin(call);
  now_ += 1000;  // what the machine needs
  own.end(goes_on_);
  EXPECT_EQ(now_ - begun, ns_of(kBytes));
}

TEST_F(PretendedPaces, TheTimesOfAGroupAddUp) {
  PretendedPace own = pace(0);
  const Operation group[] = {all_reduce(kBytes), all_reduce(kBytes / 2)};
  const int64_t begun = now_;
  own.begin(group);
  own.end(goes_on_);
  EXPECT_NEAR(static_cast<double>(now_ - begun), static_cast<double>(ns_of(kBytes) + ns_of(kBytes / 2)), 2);
}

TEST_F(PretendedPaces, TheScaleMultipliesTimesAndNoScaleLetsCallsGo) {
  const Operation call[] = {all_reduce(kBytes)};
  PretendedPace slow = pace(0, 10);
  int64_t begun = now_;
  slow.begin(call);
  slow.end(goes_on_);
  EXPECT_NEAR(static_cast<double>(now_ - begun), 10 * static_cast<double>(ns_of(kBytes)), 10);
  PretendedPace free = pace(1, 0);
  begun = now_;
  free.begin(call);
  free.end(goes_on_);
  EXPECT_EQ(now_, begun);
}

TEST_F(PretendedPaces, TheTimeBeginsWithTheLastRank) {
  PretendedPace early = pace(0), late = pace(1);
  const Operation call[] = {all_reduce(kBytes)};
  for (int round = 0; round < 3; ++round) {
    early.begin(call);
    now_ += 5'000'000'000;
    const int64_t last = now_;
    late.begin(call);
    now_ += 1000;
    early.end(goes_on_);
    EXPECT_EQ(now_ - last, ns_of(kBytes)) << "call " << round;
    late.end(goes_on_);
    EXPECT_EQ(now_ - last, ns_of(kBytes)) << "call " << round;
  }
}

TEST_F(PretendedPaces, ARankThatBeganAfterTheWorkWasDoneDoesNotCount) {
  PretendedPace own = pace(0);
  const Operation call[] = {all_reduce(kBytes)};
  const int64_t begun = now_;
  own.begin(call);
  begins_[1].put(1, now_ + 1'000'000'000);
  own.end(goes_on_);
  EXPECT_EQ(now_ - begun, ns_of(kBytes));
}

TEST_F(PretendedPaces, SendsAndReceivesGoSideBySide) {
  PretendedPace own = pace(0);
  const SendOp send{nullptr, kBytes / 4, DataType::float32, 1};
  const RecvOp receive{nullptr, kBytes / 4, DataType::float32, 1};
  const Operation group[] = {send, receive};
  const int64_t begun = now_;
  own.begin(group);
  own.end(goes_on_);
  EXPECT_EQ(now_ - begun, std::llround(*times_->of_message(0, 1, kBytes) * 1e9));
  begins_[1].put(1, now_);  // a message has no number among the collectives
  const int64_t second = now_;
  const Operation two[] = {send, send};
  own.begin(two);
  now_ += 1000;
  own.end(goes_on_);
  EXPECT_NEAR(static_cast<double>(now_ - second), 2e9 * *times_->of_message(0, 1, kBytes), 2);
}

TEST_F(PretendedPaces, AnAbortEndsTheWait) {
  PretendedPace own = pace(0);
  const Operation call[] = {all_reduce(kBytes)};
  own.begin(call);
  const int64_t begun = now_;
  own.end(std::atomic<bool>(true));
  EXPECT_EQ(now_, begun);
  const std::atomic<bool> aborted(true);
  PretendedPace::Clock::real().wait(now_ns() + (int64_t{1} << 55), aborted);  // returns
}

TEST_F(PretendedPaces, AMachineThatIsTooSlowIsSaidOnce) {
  const Logged logged;
  PretendedPace own = pace(0);
  const Operation call[] = {all_reduce(kBytes)};
  for (int round = 0; round < 2; ++round) {
    own.begin(call);
    now_ += ns_of(kBytes);
    own.end(goes_on_);
  }
  EXPECT_THAT(logged.text(), Not(HasSubstr("too slow")));
  for (int round = 0; round < 2; ++round) {
    own.begin(call);
    now_ += 3 * ns_of(kBytes);
    own.end(goes_on_);
  }
  const std::string text = logged.text();
  EXPECT_THAT(
      text,
      HasSubstr("this machine is too slow for the cluster: ncclAllReduce(count 2097152, float32, sum)"));
  EXPECT_THAT(text, HasSubstr("3 times the"));
  EXPECT_EQ(text.find("too slow"), text.rfind("too slow"));
}

TEST(BeginTimes, KeepsTheLatest) {
  BeginTimes times{};
  EXPECT_EQ(times.at(1), std::nullopt);
  for (uint64_t number = 1; number <= 2 * BeginTimes::kKept; ++number)
    times.put(number, static_cast<int64_t>(number) * 10);
  EXPECT_EQ(times.at(2 * BeginTimes::kKept), 20 * BeginTimes::kKept);
  EXPECT_EQ(times.at(BeginTimes::kKept + 1), 10 * (BeginTimes::kKept + 1));
  EXPECT_EQ(times.at(BeginTimes::kKept), std::nullopt);
}

}  // namespace
}  // namespace weir::core
