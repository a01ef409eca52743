// SPDX-License-Identifier: Apache-2.0
/// The training loop: steps, evaluation, output, metrics, and generated text at the end.
#pragma once

#include <memory>
#include <string>

#include "trainer/run/engine.h"
#include "trainer/run/journal.h"
#include "trainer/run/settings.h"
#include "trainer/tokenizer/tokenizer.h"

namespace weir::trainer {

struct ReportSettings {
  Index every = 10;            ///< steps between lines of progress
  Index evaluate_every = 100;  ///< steps between evaluations; 0: only at the end
  std::string metrics;         ///< path of a file with one JSON object per line, added to it; empty: none
  bool goes_on = false;        ///< earlier ranks of this run have trained already
  JournalSettings journal;
  std::string prompt = "And God said";
  Index sample_tokens = 300;  ///< tokens generated at the end
  float temperature = 0.8f;
  double peak = 0;       ///< measured FLOP/s of a rank; 0: unknown
  double predicted = 0;  ///< predicted seconds per step; 0: no prediction
  int ranks = 1;
  std::shared_ptr<const Tokenizer> tokenizer;  ///< of the generated text; not null
  bool tokens_are_bytes = true;                ///< or else losses are reported by token
  bool prints = true;  ///< whether this rank prints and writes the metrics; true on one rank
};

/// Steps in a row whose loss or gradient may be not finite; with one more the run ends.
inline constexpr Index kMostSkipped = 10;

/// How the steps of a run ended; the same on all ranks.
struct RunEnd {
  Index steps = 0;      ///< number of steps done, those before a checkpoint included
  int stop_signal = 0;  ///< signal for which the run stopped (stop_signals.h); 0: none
  bool admits = false;  ///< it goes on when processes that wait have joined
};

/// Runs all steps and reports to stdout and to the metrics file. Steps whose loss or gradient is not finite
/// change nothing; they are counted, and too many in a row are an error. Rates count the time of training
/// only. If ranks are asked to stop, the current step is the last one: its state is saved, but neither
/// evaluated nor sampled from; the signals are ignored from then on. It also ends after a step in which
/// processes wait to join.
Result<RunEnd> train(TrainingEngine& engine, const Settings& settings, const ReportSettings& report);

/// Reports the loss on the held-out text, the digest and a generated text, as train() does at its end, of an
/// engine that has loaded its parameters. Writes no page and no trace.
Status evaluate_and_sample(TrainingEngine& engine, const Resumed& loaded, const ReportSettings& report);

}  // namespace weir::trainer
