// SPDX-License-Identifier: Apache-2.0
/// The training loop: steps, evaluation, what is printed and written, and text at the end.
#pragma once

#include <string>

#include "trainer/run/engine.h"
#include "trainer/run/journal.h"
#include "trainer/run/settings.h"

namespace weir::trainer {

struct ReportSettings {
  Index every = 10;            ///< steps between lines
  Index evaluate_every = 100;  ///< steps; 0: at the end only
  std::string metrics;         ///< file of one JSON object per line; empty: none
  bool goes_on = false;        ///< the file is added to, as ranks of this run were there before
  JournalSettings journal;
  std::string prompt = "And God said";
  Index sample_bytes = 300;  ///< generated at the end
  float temperature = 0.8f;
  double peak = 0;       ///< measured floating-point operations per second of a rank, 0: not known
  double predicted = 0;  ///< seconds of a step; 0: nothing was predicted
  int ranks = 1;
  bool prints = true;  ///< only one rank does, and writes the metrics
};

/// Runs all steps and reports to stdout and to the metrics file. Rates are those of training alone.
Status train(Engine& engine, const Settings& settings, const ReportSettings& report);

}  // namespace weir::trainer
