// SPDX-License-Identifier: Apache-2.0

#include "algorithms/catalogue/pat_schedule.h"

#include <algorithm>
#include <bit>

namespace weir::algorithms {
namespace {

int heads_for(int hosts, int stride) { return (hosts + stride - 1) / stride; }

/// The steps whose distances halve down to the stride; fills the row of branch 0.
void halve(PatSchedule& schedule) {
  std::vector<int>& order = schedule.heads;  // multiples of the current distance, largest last
  order = {0};
  int stride = static_cast<int>(std::bit_ceil(static_cast<unsigned>(schedule.hosts)));
  while (stride > schedule.stride) {
    stride /= 2;
    const int before = static_cast<int>(order.size());
    const int count = heads_for(schedule.hosts, stride) - before;
    // With an odd number of multiples the largest one is not doubled and must stay last: the new ones come
    // first.
    const bool ahead = count < before;
    std::vector<int> arriving;
    for (int place = 0; place < count; ++place)
      arriving.push_back(order[static_cast<size_t>(place)] + stride);
    order.insert(ahead ? order.begin() : order.end(), arriving.begin(), arriving.end());
    if (ahead) {
      for (PatStep& step : schedule.steps) {
        step.sent.first += count;
        step.arriving.first += count;
      }
    }
    schedule.steps.push_back({stride, {0, ahead ? count : 0, count}, {0, ahead ? 0 : before, count}});
  }
}

/// The shares after the distances have halved: all but the last message, and the last message.
void share_first_row(PatSchedule& schedule) {
  const size_t steps = schedule.steps.size();
  const int all = schedule.row_size();
  if (steps == 0 || schedule.stride > 1) {
    schedule.shares.push_back({{0, 0, all}, steps});
    return;
  }
  const PatRun& last = schedule.steps.back().arriving;
  schedule.shares.push_back({{0, last.first == 0 ? last.count : 0, all - last.count}, steps - 1});
  schedule.shares.push_back({last, steps});
}

/// The steps into the branches below `branch` at distances less than `reach`.
void go_down(PatSchedule& schedule, int branch, int reach) {
  for (int distance = reach / 2; distance > 0; distance /= 2) {
    const int below = branch + distance;
    const int count = schedule.row_size() - (schedule.heads.back() + below >= schedule.hosts ? 1 : 0);
    if (count == 0) continue;
    schedule.steps.push_back({distance, {branch, 0, count}, {below, 0, count}});
    schedule.shares.push_back({schedule.steps.back().arriving, schedule.steps.size()});
    go_down(schedule, below, distance);
  }
}

}  // namespace

int PatSchedule::rows() const { return std::bit_width(static_cast<unsigned>(stride)); }

int PatSchedule::row(int branch) const { return std::popcount(static_cast<unsigned>(branch)); }

int PatSchedule::own_place() const {
  return static_cast<int>(std::find(heads.begin(), heads.end(), 0) - heads.begin());
}

PatSchedule pat_schedule(int hosts, int aggregate) {
  PatSchedule schedule;
  schedule.hosts = hosts;
  while (heads_for(hosts, schedule.stride) > aggregate) schedule.stride *= 2;
  halve(schedule);
  share_first_row(schedule);
  go_down(schedule, 0, schedule.stride);
  return schedule;
}

}  // namespace weir::algorithms
