// SPDX-License-Identifier: Apache-2.0

#include "trainer/run/fragments.h"

#include <fmt/format.h>

#include <numeric>

namespace weir::trainer {

Index outer_delay_of(const Settings& settings) {
  if (settings.outer_delay) return *settings.outer_delay;
  return settings.outer_fragments > 1 && settings.outer_fragments < settings.local_steps ? 1 : 0;
}

Status check_fragments(const Settings& settings) {
  const auto wrong = [](std::string what) { return Status(Code::invalid_argument, std::move(what)); };
  const Index fragments = settings.outer_fragments, interval = settings.local_steps;
  const Index delay = outer_delay_of(settings), units = settings.config.layers + 2;
  if (fragments < 1)
    return wrong(fmt::format("--outer-fragments {} is too small; expected at least 1", fragments));
  if (delay < 0) return wrong(fmt::format("--outer-delay {} is negative; expected at least 0", delay));
  if (!(settings.outer_mix >= 0 && settings.outer_mix < 1))
    return wrong(
        fmt::format("--outer-mix {} is invalid; expected at least 0 and less than 1", settings.outer_mix));
  if (interval == 0) {
    if (fragments == 1 && delay == 0) return {};
    return wrong("--outer-fragments or --outer-delay without --local-steps; expected both, or neither");
  }
  if (fragments > interval || fragments > units)
    return wrong(
        fmt::format("--outer-fragments {} with --local-steps {}: expected at most as many fragments "
                    "as steps, and as the model's {} units",
                    fragments, interval, units));
  if (delay * fragments >= interval)
    return wrong(fmt::format(
        "--outer-delay {} with --local-steps {} and --outer-fragments {}: expected less than {:g} steps, "
        "after "
        "which the next fragment is exchanged",
        delay, interval, fragments, static_cast<double>(interval) / static_cast<double>(fragments)));
  return {};
}

Fragments::Fragments(const Settings& settings)
    : steps_(settings.steps),
      interval_(settings.local_steps),
      count_(settings.outer_fragments),
      delay_(outer_delay_of(settings)) {}

/// Fragment f is due when (f + 1) / count_ of the steps of an interval are done.
std::optional<size_t> Fragments::due_after(Index step) const {
  if (step < 0) return std::nullopt;
  const Index done = step % interval_ + 1;
  const Index fragment = (done * count_ + interval_ - 1) / interval_ - 1;  // the only one that can be due
  if ((fragment + 1) * interval_ / count_ != done) return std::nullopt;
  return static_cast<size_t>(fragment);
}

std::optional<size_t> Fragments::sent_after(Index step) const {
  return overlap() && !is_last(step) ? due_after(step) : std::nullopt;
}

std::vector<size_t> Fragments::merged_after(Index step) const {
  if (is_last(step)) {
    std::vector<size_t> all(static_cast<size_t>(count_));
    std::iota(all.begin(), all.end(), size_t{0});
    return all;
  }
  const auto due = due_after(step - delay_);
  return due ? std::vector<size_t>{*due} : std::vector<size_t>();
}

std::optional<size_t> Fragments::in_flight_after(Index step) const {
  if (is_last(step)) return std::nullopt;
  for (Index begun = step; begun > step - delay_; --begun)
    if (const auto due = due_after(begun)) return due;
  return std::nullopt;
}

}  // namespace weir::trainer
