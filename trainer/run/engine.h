// SPDX-License-Identifier: Apache-2.0
/// An engine runs the model: it decides where parameters are stored and which rank computes what. The
/// training loop (train.h) uses only this interface. All ranks make the same calls and get the same losses
/// and text.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "trainer/math/row_calls.h"
#include "trainer/run/span.h"

namespace weir::trainer {

/// The state from which a run continues.
struct Resumed {
  Index step = 0;                  ///< next step to compute; 0: the run starts from the beginning
  std::vector<std::string> notes;  ///< sentences about newer unusable checkpoints and about changed settings
};

struct StepResult {
  double loss = 0;           ///< mean over the tokens of the global batch, in nats
  double gradient_norm = 0;  ///< norm before clipping
  float learning_rate = 0;
  bool skipped = false;  ///< whether loss or gradient were not finite, so that parameters and moments stayed
  int stop_signal = 0;   ///< signal by which ranks were asked to stop; 0: none. The same on all ranks
  bool newcomers = false;   ///< whether processes wait to join. The same on all ranks
  double waited_ms = 0;     ///< time for which this rank's computing waited for communication
  double busy_ms = 0;       ///< time during which collectives were in flight
  uint64_t bytes = 0;       ///< bytes received and sent by collectives
  uint64_t memory = 0;      ///< largest number of bytes that arrays have taken so far
  std::vector<Span> spans;  ///< timeline of this rank
};

class TrainingEngine {
 public:
  virtual ~TrainingEngine() = default;
  /// Trains on global batch `step` (from 0); to be called in order.
  virtual Result<StepResult> step(Index step) = 0;
  /// Opens the folder of checkpoints and loads the newest usable one, if checkpoints are kept. `regrouped`:
  /// ranks of this run that are no longer in it may have the folder open.
  virtual Result<Resumed> resume(bool regrouped) = 0;
  /// Starts to save the state after `steps` steps, once the previous checkpoint is complete.
  virtual Status save(Index steps) = 0;
  /// Waits until the current checkpoint is complete.
  virtual Status finish_saving() = 0;
  /// The mean loss on the held-out text, in nats per token.
  virtual Result<double> evaluate() = 0;
  /// A 64-bit digest of all parameters and moments, to compare their bits with those of another run with any
  /// number of ranks.
  virtual Result<uint64_t> digest() = 0;
  /// The prompt, of at least one token, and `count` tokens that continue it, sampled with the given
  /// temperature; they depend only on the parameters and the seed.
  virtual Result<std::vector<Token>> generate(std::span<const Token> prompt, Index count,
                                              float temperature) = 0;
  /// Collects the spans of all ranks; index: rank.
  virtual Result<Timeline> timeline(std::span<const Span> own) = 0;
};

}  // namespace weir::trainer
