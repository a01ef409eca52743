/// An engine runs the model: where parameters live and who computes what. The training loop (train.h) knows
/// no more of it than this.
#pragma once

#include <string>

#include "trainer/math/lanes.h"
#include "weir/status.h"

namespace weir::trainer {

struct StepResult {
  double loss = 0;           ///< mean over the tokens of the global batch, in nats
  double gradient_norm = 0;  ///< before clipping
  float learning_rate = 0;
};

class Engine {
 public:
  virtual ~Engine() = default;
  /// Learns from global batch `step` (from 0), in order.
  virtual Result<StepResult> step(Index step) = 0;
  /// The mean loss on the held-out text, in nats per byte.
  virtual Result<double> evaluate() = 0;
  /// `count` bytes that follow the prompt, drawn with the given temperature; they depend on the parameters
  /// and the seed only.
  virtual Result<std::string> generate(const std::string& prompt, Index count, float temperature) = 0;
};

}  // namespace weir::trainer
