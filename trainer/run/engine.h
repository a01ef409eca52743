/// An engine runs the model: where parameters live and who computes what. The training loop (train.h) knows
/// no more of it than this. All ranks make the same calls and get the same losses and text.
#pragma once

#include <cstdint>
#include <string>

#include "trainer/math/lanes.h"
#include "weir/status.h"

namespace weir::trainer {

struct StepResult {
  double loss = 0;           ///< mean over the tokens of the global batch, in nats
  double gradient_norm = 0;  ///< before clipping
  float learning_rate = 0;
  double waited_ms = 0;  ///< that computing stood still for communication, on this rank
  double busy_ms = 0;    ///< that collectives were under way
  uint64_t bytes = 0;    ///< received and sent for them
};

class Engine {
 public:
  virtual ~Engine() = default;
  /// Learns from global batch `step` (from 0), in order.
  virtual Result<StepResult> step(Index step) = 0;
  /// The mean loss on the held-out text, in nats per byte.
  virtual Result<double> evaluate() = 0;
  /// 64 bits that tell whether parameters and moments have the same bits as in another run, of any number of
  /// ranks.
  virtual Result<uint64_t> digest() = 0;
  /// `count` bytes that follow the prompt, drawn with the given temperature; they depend on the parameters
  /// and the seed only.
  virtual Result<std::string> generate(const std::string& prompt, Index count, float temperature) = 0;
};

}  // namespace weir::trainer
