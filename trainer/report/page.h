// SPDX-License-Identifier: Apache-2.0
/// The report of a run: one HTML file that needs nothing else.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "trainer/report/plot.h"
#include "trainer/run/span.h"

namespace weir::trainer {

/// One step, as the metrics have it.
struct StepRow {
  double step = 0;  ///< from 1
  double bits = 0;  ///< per byte, of the global batch
  double tokens_per_second = 0;
  double busy_ms = 0;
  double exposed_ms = 0;
  double megabytes = 0;  ///< received and sent by the first rank
};

/// What the page tells.
struct Story {
  std::string title;
  std::vector<std::pair<std::string, std::string>> facts;
  std::vector<StepRow> steps;
  std::vector<std::pair<double, double>> held_out;  ///< step, bits per byte
  std::vector<Level> levels;                        ///< bits per byte to compare with
  Timeline last_step;
  std::string text;  ///< that the model wrote
};

/// Pure. Losses are also shown as their mean over about a fiftieth of the run.
std::string page_of(const Story& story);

}  // namespace weir::trainer
