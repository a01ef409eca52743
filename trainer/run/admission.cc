// SPDX-License-Identifier: Apache-2.0

#include "trainer/run/admission.h"

namespace weir::trainer {

bool forms_groups(const Settings& settings, int ranks) {
  const int parts = settings.parts.parts();
  if (ranks % parts != 0) return false;
  const shard::EngineOptions& sharding = settings.sharding;
  const bool grouped = settings.local_steps > 0 || sharding.strategy == shard::Strategy::hybrid_shard ||
                       sharding.strategy == shard::Strategy::hpz;
  if (!grouped || sharding.shard_ranks == 0) return true;
  const int replicas = ranks / parts;
  if (replicas % sharding.shard_ranks != 0) return false;
  return settings.local_steps == 0 || settings.batch % (replicas / sharding.shard_ranks) == 0;
}

int admissible(const Settings& settings, int ranks, int waiting) {
  while (waiting > 0 && !forms_groups(settings, ranks + waiting)) --waiting;
  return waiting;
}

}  // namespace weir::trainer
