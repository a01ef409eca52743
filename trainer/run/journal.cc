// SPDX-License-Identifier: Apache-2.0

#include "trainer/run/journal.h"

#include "trainer/report/trace.h"

namespace weir::trainer {

Status Journal::begin() const {
  if (!settings_.trace.empty()) WEIR_TRY(try_file(settings_.trace, "trace"));
  return settings_.page.empty() ? Status() : try_file(settings_.page, "page");
}

void Journal::add(const StepRow& row, const std::vector<Span>& spans) {
  if (!settings_.any()) return;
  rows_.push_back(row);
  steps_.push_back(spans);
  const size_t most = settings_.trace.empty() ? 1 : static_cast<size_t>(settings_.trace_steps);
  if (steps_.size() > most) steps_.pop_front();
}

void Journal::add_held_out(double step, double bits) {
  if (settings_.any()) held_out_.emplace_back(step, bits);
}

Status Journal::finish(TrainingEngine& engine, const std::string& text, bool writes) {
  if (!settings_.any()) return {};
  std::vector<Span> own;
  for (const std::vector<Span>& step : steps_) own.insert(own.end(), step.begin(), step.end());
  const auto all = engine.timeline(own);
  if (!all.ok()) return all.status();
  return writes ? write(*all, text) : Status();
}

Status Journal::write(const Timeline& all, const std::string& text) const {
  if (!settings_.trace.empty()) WEIR_TRY(write_file(settings_.trace, trace_of(all), "trace"));
  if (settings_.page.empty()) return {};
  TrainingPage content{"weir-train",     settings_.facts, rows_, held_out_,
                       settings_.levels, {{}, all.units}, text,  settings_.symbol};
  int32_t last = 0;
  for (const auto& of_rank : all.spans)
    for (const Span& span : of_rank) last = std::max(last, span.step);
  for (const auto& of_rank : all.spans) {
    content.last_step.spans.emplace_back();
    for (const Span& span : of_rank)
      if (span.step == last) content.last_step.spans.back().push_back(span);
  }
  return write_file(settings_.page, page_of(content), "page");
}

}  // namespace weir::trainer
