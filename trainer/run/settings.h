// SPDX-License-Identifier: Apache-2.0
/// The settings of a training run, and the schedule of its learning rate.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trainer/math/products.h"
#include "trainer/model/config.h"
#include "trainer/model/unit.h"
#include "trainer/parallel/grid.h"
#include "trainer/shard/engine.h"
#include "trainer/tokenizer/bpe_tokenizer.h"

namespace weir::trainer {

class ImportedModel;

enum class Optimizer : uint8_t {
  adamw,
  muon,  ///< for the matrices of blocks (muon.h); AdamW for the others
};

struct Settings {
  Config config;
  Index steps = 300;
  Index stop_after = 0;   ///< number of steps; 0: all. The learning rate follows the schedule of all steps
  Index batch = 16;       ///< sequences per global batch
  Index micro_batch = 0;  ///< sequences that a rank computes together; 0: its whole share of the batch
  uint64_t seed = 1;
  float learning_rate = 3e-3f;  ///< peak learning rate
  Index warm_up = 20;           ///< number of steps
  float last_rate = 0.1f;       ///< learning rate of the last step, as a fraction of the peak
  Optimizer optimizer = Optimizer::adamw;
  float weight_decay = 0.1f;
  float beta1 = 0.9f;
  float beta2 = 0.95f;
  float epsilon = 1e-8f;
  float clip = 1.0f;  ///< largest norm of the gradient; 0: no clipping
  Precision precision = Precision::fp32;
  Recompute recompute = Recompute::none;
  /// The token with which documents begin, if attention does not cross their borders.
  std::optional<Token> separator;
  bool canonical = false;            ///< canonical sums: products per sequence, gradients in a tree
  size_t memory = 0;                 ///< bytes that the arrays of a rank may take (budget.h); 0: any number
  Index evaluation_sequences = 256;  ///< number of held-out sequences; 0: the whole held-out text
  std::shared_ptr<const ImportedModel> imported;  ///< gives the initial parameters; null: they are random
  std::string checkpoints;                        ///< path of the folder; empty: no checkpoints are written
  bool checkpoints_local = false;                 ///< the folder is another one on each host
  Index checkpoint_every = 100;  ///< steps between checkpoints; one is also written after the last step
  int checkpoints_kept = 2;
  Index local_steps = 0;  ///< steps between the meetings of groups that train by themselves; 0: no groups
  float outer_learning_rate = 0.7f;  ///< of the optimizer at these meetings (outer_optimizer.h)
  float outer_momentum = 0.9f;
  Index outer_fragments = 1;         ///< parts of the model that groups exchange one after the other
  std::optional<Index> outer_delay;  ///< steps from an exchange's begin to its merge (fragments.h)
  float outer_mix = 0.5f;            ///< weight of a group's own parameters in such a merge
  /// Options with which the run may go on in another way than the checkpoint's (checkpoint_words.h).
  std::vector<std::string> allowed_changes;
  /// The tokenizer's files, which each checkpoint has; null: tokens are bytes or numbers.
  std::shared_ptr<const TokenizerFiles> tokenizer_files;
  parallel::Shape parts;          ///< parts into which the model is cut; each has ranks of its own
  shard::EngineOptions sharding;  ///< all fields but `canonical`, which is copied from the field above
};

/// An error that names the first invalid setting.
Status check(const Settings& settings);

/// Rises linearly during the warm-up, then falls along half a cosine to the last rate. `step` counts from 0.
float learning_rate_at(const Settings& settings, Index step);

}  // namespace weir::trainer
