// SPDX-License-Identifier: Apache-2.0

#include "trainer/run/turns.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "trainer/shard/calls.h"

namespace weir::trainer {
namespace {

constexpr int kFewestTurns = 3;
constexpr int kUsualTurns = 5;
constexpr double kShort = 0.1;     ///< seconds for which turns are repeated in any case
constexpr double kLongEnough = 1;  ///< seconds after which no more turns are needed

double seconds_of(const std::function<void()>& work, int times) {
  const auto begin = std::chrono::steady_clock::now();
  for (int at = 0; at < times; ++at) work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

bool takes_another_turn(int turns, double seconds) {
  if (turns < kFewestTurns || seconds < kShort) return true;
  return turns < kUsualTurns && seconds < kLongEnough;
}

Result<double> largest(ncclComm_t comm, double value) {
  WEIR_TRY(shard::checked(ncclAllReduce(&value, &value, 1, ncclFloat64, ncclMax, comm, nullptr), "survey"));
  return value;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

Result<double> usual_seconds(ncclComm_t comm, const std::function<void()>& work, bool takes_part) {
  const auto turn = [&](int times) -> Result<double> {
    WEIR_TRY(largest(comm, 0).status());
    return largest(comm, takes_part ? seconds_of(work, times) : 0);
  };
  WEIR_TRY(turn(1).status());
  const auto once = turn(1);
  WEIR_TRY(once.status());
  const int times = static_cast<int>(std::clamp(std::ceil(kManyTimeSlices / *once), 1.0, 1e4));
  std::vector<double> found;
  for (double spent = 0; takes_another_turn(static_cast<int>(found.size()), spent); spent += found.back()) {
    const auto seconds = turn(times);
    WEIR_TRY(seconds.status());
    found.push_back(*seconds);
  }
  return median(std::move(found)) / times;
}

}  // namespace weir::trainer
