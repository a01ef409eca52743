// SPDX-License-Identifier: Apache-2.0

#include "trainer/run/trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "trainer/run/sharded.h"
#include "trainer/run/turns.h"
#include "trainer/shard/calls.h"

namespace weir::trainer {
namespace {

constexpr int kRounds = 3;
constexpr Index kSteps = 3;  ///< per round; the first one fills caches and opens channels

/// Appends the times of steps, each that of its slowest rank.
Status run_steps(const World& world, Settings settings, const Text& text, Ops& ops,
                 std::vector<double>& times) {
  settings.checkpoints.clear();
  auto engine = Sharded::create(world, settings, text, ops);
  WEIR_TRY(engine.status());
  for (Index step = 0; step < kSteps; ++step) {
    const auto begin = std::chrono::steady_clock::now();
    const auto result = (*engine)->step(step);
    if (!result.ok()) (*engine)->abort();
    WEIR_TRY(result.status());
    double slowest = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    WEIR_TRY(shard::checked(ncclAllReduce(&slowest, &slowest, 1, ncclFloat64, ncclMax, world.comm(), nullptr),
                            "trial"));
    if (step > 0) times.push_back(slowest);
  }
  return {};
}

}  // namespace

std::string Trial::describe() const {
  return fmt::format("tried          {:.4g} s per step, and {:.4g} s with the usual settings{}", chosen,
                     usual, keeps_usual() ? ", which are kept" : "");
}

Result<Trial> try_both(const World& world, const Settings& chosen, const Settings& usual, const Text& text,
                       Ops& ops) {
  std::vector<double> usual_times, chosen_times;
  for (int round = 0; round < kRounds; ++round) {
    WEIR_TRY(run_steps(world, usual, text, ops, usual_times));
    WEIR_TRY(run_steps(world, chosen, text, ops, chosen_times));
  }
  return Trial{median(std::move(chosen_times)), median(std::move(usual_times))};
}

}  // namespace weir::trainer
