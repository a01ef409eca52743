// SPDX-License-Identifier: Apache-2.0
/// What a run leaves behind beside its metrics: a trace and a page (trainer/report).
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "trainer/report/page.h"
#include "trainer/run/engine.h"

namespace weir::trainer {

struct JournalSettings {
  std::string trace;                                       ///< file; empty: none
  int trace_steps = 20;                                    ///< the last ones
  std::string page;                                        ///< file; empty: none
  std::vector<std::pair<std::string, std::string>> facts;  ///< of the page: name, value
  std::vector<Level> levels;                               ///< bits per byte to compare losses with

  bool any() const { return !trace.empty() || !page.empty(); }
};

/// Costs nothing where neither is asked for. Used by one thread.
class Journal {
 public:
  explicit Journal(const JournalSettings& settings) : settings_(settings) {}

  /// Makes the files, so that a wrong path is told before the run and not after it.
  Status begin() const;
  void add(const StepRow& row, const std::vector<Span>& spans);
  void add_held_out(double step, double bits);
  /// Collective; one rank `writes`. Errors: those of the library; files that cannot be written.
  Status finish(Engine& engine, const std::string& text, bool writes);

 private:
  Status write(const Timeline& all, const std::string& text) const;

  const JournalSettings& settings_;
  std::vector<StepRow> rows_;
  std::vector<std::pair<double, double>> held_out_;
  std::deque<std::vector<Span>> steps_;  ///< those of the trace
};

}  // namespace weir::trainer
