// SPDX-License-Identifier: Apache-2.0

#include "trainer/run/elastic.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "trainer/run/admission.h"
#include "trainer/shard/calls.h"

namespace weir::trainer {
namespace {

constexpr int kMostChanges = 10;  ///< further ranks may be lost meanwhile

Result<std::vector<Standing>> all_standings(const World& world, const Standing& own) {
  std::vector<Standing> all(static_cast<size_t>(world.ranks()));
  Standing* const mine = all.data() + world.rank();
  *mine = own;
  WEIR_TRY(shard::checked(ncclAllGather(mine, all.data(), sizeof(Standing), ncclChar, world.comm(), nullptr),
                          "comparing what ranks have"));
  return all;
}

/// The one with the most commits.
Standing newest_of(const std::vector<Standing>& all) {
  return *std::ranges::max_element(all, {}, &Standing::commits);
}

}  // namespace

Status CarriedState::take(Sharded& engine) {
  auto state = engine.live_state();
  WEIR_TRY(state.status());
  live_ = std::move(*state);
  standing_ = engine.commits().standing();
  return {};
}

Status CarriedState::agree(const World& world, Sharded* engine) {
  // An engine that has not loaded all is of no use, unless others have done so.
  Standing own = live_.has_value() ? standing_ : Standing();
  const bool counts =
      engine != nullptr && (engine->commits().has_state() || engine->commits().standing().ready != 0);
  if (counts) own = engine->commits().standing();
  const auto all = all_standings(world, own);
  WEIR_TRY(all.status());
  const Standing newest = newest_of(*all);
  if (counts && own.ready != 0 && own.commits + 1 == newest.commits)
    WEIR_TRY(engine->commit(newest.finite != 0));
  const bool has_newest = counts && engine->commits().has_state() && newest.commits > 0 &&
                          engine->commits().standing().commits == newest.commits;
  if (has_newest) return take(*engine);
  if (live_.has_value() && standing_.commits != newest.commits) live_.reset();
  return {};
}

Result<bool> CarriedState::give(const World& world, Sharded& engine) {
  const auto all = all_standings(world, live_.has_value() ? standing_ : Standing());
  WEIR_TRY(all.status());
  Standing newest = newest_of(*all);
  newest.ready = 0;
  if (newest.commits == 0) return false;
  if (live_.has_value() && standing_.commits != newest.commits) live_.reset();
  const auto given = engine.adopt(live_.has_value() ? &*live_ : nullptr, newest);
  if (given.ok()) live_.reset();
  return given;
}

Result<std::string> change_ranks(World& world, const Status& failure, const Settings& settings,
                                 std::unique_ptr<Sharded>& engine, CarriedState& carried) {
  std::string words;
  const auto add = [&](const std::string& what) {
    if (!what.empty()) words += (words.empty() ? "" : "; ") + what;
  };
  Status last = failure;
  if (last.ok()) WEIR_TRY(carried.take(*engine));
  for (int attempt = 0; attempt < kMostChanges; ++attempt) {
    if (!last.ok()) {
      const bool has_trained = engine != nullptr && engine->commits().has_trained();
      const bool expels = world.newcomers() > 0 && !has_trained && last.code() != Code::remote_error;
      if (expels && world.is_newcomer()) return last;
      auto changed = expels ? world.expel_newcomers() : world.regroup(last);
      if (expels && !changed.ok()) changed = world.regroup(last);  // others have seen another error
      WEIR_TRY(changed.status());
      add(fmt::format("{}, after this error: {}", *changed, last.message()));
      last = carried.agree(world, engine.get());
      if (!last.ok()) continue;
    }
    engine.reset();
    const auto joined =
        world.admit([&](int waiting) { return admissible(settings, world.ranks(), waiting); });
    last = joined.status();
    if (!last.ok()) continue;
    add(*joined);
    return words;
  }
  return last;
}

}  // namespace weir::trainer
