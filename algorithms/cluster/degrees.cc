// SPDX-License-Identifier: Apache-2.0

#include "algorithms/cluster/degrees.h"

#include <algorithm>
#include <utility>

#include "src/base/index.h"

namespace weir::algorithms {
namespace {

/// The number of neighbours that a host or group can have: pace * time - offset. A group that is below one by
/// m consists of 1 + m pieces, each with one edge across the border.
struct Line {
  Rational pace;
  Rational offset;
  Rational at(const Rational& time) const { return pace * time - offset; }
  /// The time at which it can have this number.
  Rational when(int degree) const { return (degree + offset) / pace; }
};

class Sharer {
 public:
  Sharer(const std::vector<HostGroup>& groups, std::span<const int32_t> kind,
         std::span<const std::vector<DegreeLimit>> limits)
      : groups_(groups), kind_(kind), limits_(limits), hosts_(kind.size()), count_(limits.size()) {}

  /// Newton's iteration: the limits that bind at the current time allow at least what all limits allow.
  Rational shortest(Rational time) {
    for (;;) {
      Rational next = time;
      const auto demand = [&](const Line& line, int degree) {
        if (line.at(time) < degree) next = std::max(next, line.when(degree));
      };
      std::vector<Line> kinds;
      for (const auto& limits : limits_) {
        kinds.push_back(lowest(limits, time));
        demand(kinds.back(), 1);
      }
      std::vector<Line> lines(groups_.size() - hosts_);  // index: group
      for (size_t g = hosts_; g < groups_.size(); ++g) {
        Line& line = lines[g - hosts_] = sum_of_children(groups_[g], kinds, lines);
        if (g + 1 == groups_.size()) demand(line, 0);
        if (groups_[g].border == 0) continue;
        const Line border{groups_[g].border, 0};
        demand(border, 1);
        demand({line.pace + border.pace, line.offset}, 2);
        if (border.at(time) < line.at(time)) line = border;
      }
      if (next == time) return time;
      time = next;
    }
  }

  /// Computes the degrees that hosts and groups can have within `time`, in `blocks` trees together; false:
  /// too few.
  bool fits(const Rational& time, int64_t blocks) {
    most_.assign(groups_.size(), 0);
    const Whole beyond = Whole(blocks) * 4 * static_cast<int64_t>(hosts_);  // more than any host needs
    const auto whole = [&](const Rational& degree) {
      const Rational all = degree * blocks;
      return static_cast<int64_t>(std::min<Whole>(numerator(all) / denominator(all), beyond));
    };
    std::vector<int64_t> kinds;
    for (const auto& limits : limits_) kinds.push_back(whole(lowest(limits, time).at(time)));
    for (size_t g = 0; g < groups_.size(); ++g) {
      const HostGroup& group = groups_[g];
      if (g < hosts_) {
        most_[g] = kinds[at(kind_[g])];
      } else {
        most_[g] = -among(group, blocks);
        for (const int32_t child : group.children) most_[g] += most_[at(child)];
        if (group.border == 0) continue;
        const int64_t across = whole(time * group.border);
        if (across < blocks || most_[g] + across < 2 * blocks) return false;
        most_[g] = std::min(most_[g], across);
      }
    }
    return most_.back() >= 0 && *std::min_element(kinds.begin(), kinds.end()) >= blocks;
  }

  /// To be called after fits(): divides a group's degree among its children, in proportion to their maxima.
  std::vector<int64_t> share(int64_t blocks) const {
    std::vector<int64_t> degrees(groups_.size());
    for (size_t g = groups_.size(); g-- > hosts_;) {
      const HostGroup& group = groups_[g];
      const auto least = [&](int32_t child) { return std::min(blocks, most_[at(child)]); };
      int64_t extra = degrees[g] + among(group, blocks);
      int64_t room = 0;
      for (const int32_t child : group.children) {
        extra -= least(child);
        room += most_[at(child)] - least(child);
      }
      int64_t before = 0;  // capacity of the children already served
      const auto part = [&](int64_t of) {
        return room == 0 ? 0 : static_cast<int64_t>(static_cast<Int128>(extra) * of / room);
      };
      for (const int32_t child : group.children) {
        const int64_t until = before + most_[at(child)] - least(child);
        degrees[at(child)] = least(child) + part(until) - part(before);
        before = until;
      }
    }
    degrees.resize(hosts_);
    return degrees;
  }

 private:
  /// The part of these degrees that edges among a group's children use.
  static int64_t among(const HostGroup& group, int64_t blocks) {
    return 2 * (static_cast<int64_t>(group.children.size()) - 1) * blocks;
  }

  static Line lowest(const std::vector<DegreeLimit>& limits, const Rational& time) {
    Line line;
    for (const DegreeLimit& limit : limits) {
      const Line each{limit.pace, limit.offset};
      if (line.pace == 0 || each.at(time) < line.at(time)) line = each;
    }
    return line;
  }

  Line sum_of_children(const HostGroup& group, const std::vector<Line>& kinds,
                       const std::vector<Line>& lines) {
    Line sum{0, among(group, 1)};
    std::vector<size_t> met;
    const auto add = [&](const Line& line, int64_t times) {
      sum.pace += line.pace * times;
      sum.offset += line.offset * times;
    };
    for (const int32_t child : group.children) {
      if (at(child) >= hosts_) {
        add(lines[at(child) - hosts_], 1);
      } else if (const size_t kind = at(kind_[at(child)]); count_[kind]++ == 0) {
        met.push_back(kind);
      }
    }
    for (const size_t kind : met) add(kinds[kind], std::exchange(count_[kind], 0));
    return sum;
  }

  const std::vector<HostGroup>& groups_;
  std::span<const int32_t> kind_;
  std::span<const std::vector<DegreeLimit>> limits_;
  const size_t hosts_;
  std::vector<int64_t> count_;  // index: kind; scratch
  std::vector<int64_t> most_;   // index: group
};

}  // namespace

Degrees share_degrees(const std::vector<HostGroup>& groups, std::span<const int32_t> kind,
                      std::span<const std::vector<DegreeLimit>> limits, const Rational& least) {
  constexpr int64_t kNumbers[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 16, 20, 24, 30, 32, 36, 40, 48, 60};
  std::vector<int64_t> numbers(std::begin(kNumbers), std::end(kNumbers));
  numbers.push_back(static_cast<int64_t>(kind.size()));
  Sharer sharer(groups, kind, limits);
  Rational time = sharer.shortest(least);
  for (const bool exact : {true, false}) {
    for (const int64_t blocks : numbers) {
      if (sharer.fits(time, blocks)) return {blocks, sharer.share(blocks)};
    }
    if (!exact) break;
    time *= Rational(1001) / 1000;
    numbers.insert(numbers.end(), {120, 840});
  }
  constexpr int64_t kFinest = 5040;  // coarser rounding would cost more than the additional time
  sharer.fits(time, kFinest);
  return {kFinest, sharer.share(kFinest)};
}

}  // namespace weir::algorithms
