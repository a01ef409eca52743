// SPDX-License-Identifier: Apache-2.0

#include "trainer/run/remaining_engine.h"

#include <fmt/format.h>

namespace weir::trainer {
namespace {

/// Drops settings that fewer ranks cannot satisfy; returns whether there was one.
bool simplify(Settings& settings) {
  if (settings.parts.parts() > 1) {
    settings.parts = {};
    return true;
  }
  if (settings.local_steps > 0) {
    settings.local_steps = 0;
    settings.outer_fragments = 1;
    settings.outer_delay.reset();
    for (const char* const name : {"local-steps", "outer-fragments", "outer-delay"})
      settings.allowed_changes.emplace_back(name);  // the checkpoint has been written with them
    return true;
  }
  const bool hybrid = settings.sharding.strategy == shard::Strategy::hybrid_shard ||
                      settings.sharding.strategy == shard::Strategy::hpz;
  if (hybrid) settings.sharding.strategy = shard::Strategy::full_shard;
  return hybrid;
}

}  // namespace

Result<std::unique_ptr<Sharded>> make_engine(const World& world, bool regrouped, Settings settings,
                                             const Text& text, Ops& ops) {
  for (;;) {
    auto engine = Sharded::create(world, settings, text, ops);
    if (engine.ok() || !regrouped || engine.status().code() != Code::invalid_argument || !simplify(settings))
      return engine;
    if (world.rank() == 0)
      fmt::print("continuing with {} on the uncut model: {}\n", shard::name_of(settings.sharding.strategy),
                 engine.status().message());
  }
}

}  // namespace weir::trainer
