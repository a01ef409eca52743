// SPDX-License-Identifier: Apache-2.0

#include "tests/chaos/round.h"

#include <fmt/format.h>

#include <array>
#include <random>

namespace weir::testing {
namespace {

constexpr std::array<const char*, kInjuries> kNames = {"none",   "delay",  "kill", "stop",
                                                       "absent", "starve", "cut"};
constexpr std::array<size_t, 7> kCounts = {0, 1, 3, 257, 5000, 40'000, 300'000};
constexpr int kWellCalls = 30;

class Dice {
 public:
  explicit Dice(uint64_t seed) : random_(seed) {}
  /// 0 to `below`, without it. Not a distribution of the standard library's, which differ between its makers.
  int roll(int below) { return static_cast<int>(random_() % static_cast<uint64_t>(below)); }

 private:
  std::mt19937_64 random_;
};

}  // namespace

const char* name_of(Injury injury) { return kNames[static_cast<size_t>(injury)]; }

Round Round::of(uint64_t seed, bool lab) {
  Dice dice(seed);
  Round round;
  round.seed = seed;
  constexpr std::array kWorlds = {2, 2, 3, 4, 4, 5, 6, 8, 12, 16};
  round.ranks = kWorlds[static_cast<size_t>(dice.roll(kWorlds.size()))];
  const bool spread = dice.roll(2) == 1;
  const int most = std::min(round.ranks, 4);
  const int hosts = 2 + dice.roll(most - 1);
  if (lab && spread) round.hosts = hosts;
  constexpr std::array kTransports = {"loop,shm,cma,tcp", "loop,shm,tcp", "loop,cma,tcp", "loop,tcp"};
  round.transports = kTransports[static_cast<size_t>(dice.roll(kTransports.size()))];
  round.fast = dice.roll(3) != 0;
  round.injury = static_cast<Injury>(dice.roll(kInjuries));
  if (round.injury == Injury::cut && round.hosts == 1) round.injury = Injury::kill;
  round.victim = dice.roll(round.ranks);
  round.moment_us = dice.roll(4) == 0 ? dice.roll(20'000) : dice.roll(400'000);
  round.last_call = dice.roll(20);
  for (int i = 0; i < kWellCalls; ++i) {
    Call call;
    call.kind = dice.roll(kCallKinds);
    call.root = dice.roll(round.ranks);
    call.count = kCounts[static_cast<size_t>(dice.roll(kCounts.size()))];
    round.calls.push_back(call);
  }
  if (round.ranks >= 4 && dice.roll(2) == 0) round.group = 2 + dice.roll(round.ranks / 2 - 1);
  round.shrinks = round.group > 0 && dice.roll(2) == 0;
  return round;
}

Round Round::calm_of(uint64_t seed, bool lab) {
  Round round = of(seed, lab);
  Dice dice(seed);
  constexpr int kMostRanks = 64, kCalls = 20;
  round.ranks = 2 + dice.roll(kMostRanks - 1);
  round.hosts = lab ? 2 : 1;
  round.injury = Injury::none;
  round.victim = 0;
  round.group = 0;
  round.shrinks = false;
  round.calm = true;
  round.calls.resize(kCalls);
  for (Call& call : round.calls) {
    call.root %= round.ranks;
    if (call.count > 5000) call.count = 5000;
  }
  return round;
}

std::string Round::text() const {
  const bool inside = injury == Injury::absent || injury == Injury::starve;
  return fmt::format(
      "seed {}: {} ranks on {} hosts, {}{}{}{}, {} rank {} {}", seed, ranks, hosts, transports,
      fast ? "" : " without fast paths", group > 0 ? fmt::format(", groups of {}", group) : "",
      shrinks ? " and a shrunk one" : "", name_of(injury), victim,
      inside ? fmt::format("after {} calls", last_call) : fmt::format("after {} us", moment_us));
}

}  // namespace weir::testing
