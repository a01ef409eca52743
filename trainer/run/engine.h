// SPDX-License-Identifier: Apache-2.0
/// An engine runs the model: where parameters live and who computes what. The training loop (train.h) knows
/// no more of it than this. All ranks make the same calls and get the same losses and text.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trainer/math/lanes.h"
#include "trainer/run/span.h"
#include "weir/status.h"

namespace weir::trainer {

/// What a run goes on from.
struct Resumed {
  Index step = 0;                  ///< the first one to do; 0: from the beginning
  std::vector<std::string> notes;  ///< sentences: newer checkpoints that could not be used, other settings
};

struct StepResult {
  double loss = 0;           ///< mean over the tokens of the global batch, in nats
  double gradient_norm = 0;  ///< before clipping
  float learning_rate = 0;
  double waited_ms = 0;     ///< that computing stood still for communication, on this rank
  double busy_ms = 0;       ///< that collectives were under way
  uint64_t bytes = 0;       ///< received and sent for them
  uint64_t memory = 0;      ///< bytes that arrays have taken so far, at most
  std::vector<Span> spans;  ///< what this rank did when
};

class Engine {
 public:
  virtual ~Engine() = default;
  /// Learns from global batch `step` (from 0), in order.
  virtual Result<StepResult> step(Index step) = 0;
  /// Goes on from the newest checkpoint that can be used, where checkpoints are kept.
  virtual Result<Resumed> resume() = 0;
  /// Begins to save what was learned in `steps` steps, once the last checkpoint is complete.
  virtual Status save(Index steps) = 0;
  /// Waits until the last checkpoint is complete.
  virtual Status finish_saving() = 0;
  /// The mean loss on the held-out text, in nats per byte.
  virtual Result<double> evaluate() = 0;
  /// 64 bits that tell whether parameters and moments have the same bits as in another run, of any number of
  /// ranks.
  virtual Result<uint64_t> digest() = 0;
  /// `count` bytes that follow the prompt, drawn with the given temperature; they depend on the parameters
  /// and the seed only.
  virtual Result<std::string> generate(const std::string& prompt, Index count, float temperature) = 0;
  /// What each rank has, by rank.
  virtual Result<Timeline> timeline(std::span<const Span> own) = 0;
};

}  // namespace weir::trainer
