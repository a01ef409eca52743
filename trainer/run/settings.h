// SPDX-License-Identifier: Apache-2.0
/// What a run of training is asked to do, and how its learning rate goes.
#pragma once

#include <cstdint>
#include <string>

#include "trainer/math/products.h"
#include "trainer/model/config.h"
#include "trainer/model/unit.h"
#include "trainer/parallel/grid.h"
#include "trainer/shard/engine.h"

namespace weir::trainer {

struct Settings {
  Config config;
  Index steps = 300;
  Index stop_after = 0;   ///< steps; 0: all. The learning rate goes as with all of them
  Index batch = 16;       ///< sequences of a global batch
  Index micro_batch = 0;  ///< sequences that go through the model of a rank together; 0: all of its share
  uint64_t seed = 1;
  float learning_rate = 3e-3f;  ///< the highest
  Index warm_up = 20;           ///< steps
  float last_rate = 0.1f;       ///< of the last step, as a fraction of the highest
  float weight_decay = 0.1f;
  float beta1 = 0.9f;
  float beta2 = 0.95f;
  float epsilon = 1e-8f;
  float clip = 1.0f;  ///< largest norm of the gradient; 0: any
  Precision precision = Precision::fp32;
  Recompute recompute = Recompute::none;
  bool canonical = false;            ///< products by sequence, gradients in a tree over sequences
  size_t memory = 0;                 ///< bytes that the arrays of a rank may take (budget.h); 0: any
  Index evaluation_sequences = 256;  ///< 0: the whole held-out text
  std::string checkpoints;           ///< folder; empty: none are kept
  Index checkpoint_every = 100;      ///< steps, and after the last one
  int checkpoints_kept = 2;
  parallel::Shape parts;          ///< that the model is cut into, each of its own ranks
  shard::EngineOptions sharding;  ///< all but `canonical`, which follows the one above
};

/// An error that names the first setting that makes no sense.
Status check(const Settings& settings);

/// Rises linearly over the warm-up, then falls along half a cosine to the last rate. `step` from 0.
float learning_rate_at(const Settings& settings, Index step);

}  // namespace weir::trainer
