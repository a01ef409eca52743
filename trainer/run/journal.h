// SPDX-License-Identifier: Apache-2.0
/// The files that a run writes besides its metrics: a trace and a page (trainer/report).
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "trainer/report/page.h"
#include "trainer/run/engine.h"

namespace weir::trainer {

struct JournalSettings {
  std::string trace;                                       ///< path of the trace file; empty: none
  int trace_steps = 20;                                    ///< number of last steps in the trace
  std::string page;                                        ///< path of the HTML file; empty: none
  std::vector<std::pair<std::string, std::string>> facts;  ///< pairs of name and value, shown on the page
  std::vector<Level> levels;                               ///< reference losses, in bits per symbol
  std::string symbol = "byte";                             ///< to which losses refer: "byte" or "token"

  bool any() const { return !trace.empty() || !page.empty(); }
};

/// Does nothing if neither file is requested. Used by one thread.
class Journal {
 public:
  explicit Journal(const JournalSettings& settings) : settings_(settings) {}

  /// Creates the files, so that a wrong path is reported before the run and not after it.
  Status begin() const;
  void add(const StepRow& row, const std::vector<Span>& spans);
  void add_held_out(double step, double bits);
  /// Collective; only the rank with `writes` writes. Errors: those of the library; files that cannot be
  /// written.
  Status finish(TrainingEngine& engine, const std::string& text, bool writes);

 private:
  Status write(const Timeline& all, const std::string& text) const;

  const JournalSettings& settings_;
  std::vector<StepRow> rows_;
  std::vector<std::pair<double, double>> held_out_;
  std::deque<std::vector<Span>> steps_;  ///< spans of the last steps, for the trace
};

}  // namespace weir::trainer
