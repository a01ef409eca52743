// SPDX-License-Identifier: Apache-2.0

#include "src/survey/ras_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include "src/base/text.h"

namespace weir::survey {
namespace {

/// Used for timeout 0, with which NCCL waits without limit.
constexpr double kLongestTimeoutS = 3600;

/// The rest of the line after a command's words, if it begins with them.
std::optional<std::string_view> after(std::string_view line, std::string_view words) {
  if (line.size() < words.size() || !equals_ignoring_case(line.substr(0, words.size()), words))
    return std::nullopt;
  return line.substr(words.size());
}

/// NCCL's names of the kinds of events, with their bits.
constexpr std::pair<std::string_view, int32_t> kEventKinds[] = {
    {"group", 1 << 0},     {"coll", 1 << 1},      {"p2p", 1 << 2},      {"proxyop", 1 << 3},
    {"proxystep", 1 << 4}, {"proxyctrl", 1 << 5}, {"kernelch", 1 << 6}, {"netplugin", 1 << 7},
    {"groupapi", 1 << 8},  {"collapi", 1 << 9},   {"p2papi", 1 << 10},  {"kernellaunch", 1 << 11},
    {"cecoll", 1 << 12},   {"cesync", 1 << 13},   {"cebatch", 1 << 14}};

/// "none", "all", a number in C's notation, or names separated by commas.
std::optional<int32_t> read_profiler_mask(std::string_view text) {
  if (equals_ignoring_case(text, "none")) return 0;
  if (equals_ignoring_case(text, "all")) return (1 << std::size(kEventKinds)) - 1;
  if (!text.empty() && text[0] >= '0' && text[0] <= '9') {
    const std::string number(text);
    char* end = nullptr;
    errno = 0;
    const long value = std::strtol(number.c_str(), &end, 0);
    const bool fits = errno == 0 && *end == '\0' && value <= std::numeric_limits<int32_t>::max();
    return fits ? std::optional(static_cast<int32_t>(value)) : std::nullopt;
  }
  int32_t mask = 0;
  for (const std::string_view word : split_list(text)) {
    const auto kind = std::ranges::find_if(
        kEventKinds, [&](const auto& one) { return equals_ignoring_case(one.first, word); });
    if (kind == std::end(kEventKinds)) return std::nullopt;
    mask |= kind->second;
  }
  return mask != 0 ? std::optional(mask) : std::nullopt;
}

}  // namespace

std::string RasSession::take(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes) {
    if (wants_report_ || broken_) break;
    if (byte != '\n') {
      line_ += byte;
      broken_ = line_.size() > kLongestLine;
      continue;
    }
    if (line_.ends_with('\r')) line_.pop_back();
    out += reply(line_);
    line_.clear();
  }
  return out;
}

std::string RasSession::reply(std::string_view line) {
  if (after(line, "client protocol ")) return "SERVER PROTOCOL 2\n";
  if (const auto text = after(line, "timeout ")) return set_timeout(*text);
  if (const auto text = after(line, "set format ")) return set_format(*text);
  if (const auto groups = after(line, "monitor"); groups && (groups->empty() || groups->front() == ' '))
    return monitor(*groups);
  if (const auto text = after(line, "control ")) return control(*text);
  if (equals_ignoring_case(line, "diagnostics")) return begin_diagnostics();
  verbose_ = equals_ignoring_case(line, "verbose status");
  wants_report_ = verbose_ || equals_ignoring_case(line, "status");
  return wants_report_ ? "" : fmt::format("ERROR: Unknown command {}\n", line);
}

std::string RasSession::set_timeout(std::string_view text) {
  const std::string number(text);
  char* end = nullptr;
  errno = 0;
  const double seconds = std::strtod(number.c_str(), &end);
  if (number.empty() || errno != 0 || *end != '\0' || !std::isfinite(seconds) || seconds < 0)
    return fmt::format("ERROR: Invalid timeout value {}\n", text);
  const double most = seconds == 0 ? kLongestTimeoutS : std::min(seconds, kLongestTimeoutS);
  timeout_ms_ = static_cast<int64_t>(std::ceil(most * 1000));
  return "OK\n";
}

std::string RasSession::set_format(std::string_view text) {
  const bool json = equals_ignoring_case(text, "json");
  if (!json && !equals_ignoring_case(text, "text")) return fmt::format("ERROR: Invalid format {}\n", text);
  json_ = json;
  return "OK\n";
}

std::string RasSession::monitor(std::string_view groups) {
  constexpr auto kLifecycle = static_cast<unsigned>(RasEvent::Group::lifecycle);
  constexpr auto kTrace = static_cast<unsigned>(RasEvent::Group::trace);
  unsigned wanted = 0;
  groups.remove_prefix(std::min(groups.find_first_not_of(' '), groups.size()));
  if (groups.starts_with('=')) groups.remove_prefix(1);  // ncclras -m=all
  for (const std::string_view group : split_list(groups)) {
    if (equals_ignoring_case(group, "lifecycle"))
      wanted |= kLifecycle;
    else if (equals_ignoring_case(group, "trace"))
      wanted |= kTrace;
    else if (equals_ignoring_case(group, "all"))
      wanted |= kLifecycle | kTrace;
    else
      return fmt::format("ERROR: Invalid event group '{}'\n", group);
  }
  events_ = wanted != 0 ? wanted : kLifecycle;
  return "OK\n";
}

std::string RasSession::control(std::string_view text) {
  const auto trimmed = [](std::string_view words) {
    words.remove_prefix(std::min(words.find_first_not_of(' '), words.size()));
    return words;
  };
  text = trimmed(text);
  const auto value = after(text, "profiler_mask ");
  if (!value) return fmt::format("ERROR: Unknown CONTROL subcommand '{}'\n", text);
  if (!controls_)
    return "ERROR: CONTROL is not for everybody; processes with WEIR_REPORTS=user take it from their user\n";
  const auto mask = read_profiler_mask(trimmed(*value));
  if (!mask) return fmt::format("ERROR: Invalid profiler mask value '{}'\n", trimmed(*value));
  profiler_mask_ = mask;
  return "OK\n";
}

std::string RasSession::begin_diagnostics() {
  wants_report_ = true;
  diagnoses_ = true;
  refused_ = json_;
  return refused_ ? "ERROR: diagnostics only supports text output\n" : "";
}

std::string RasSession::report(const Job& job, const RasVersions& versions) const {
  if (diagnoses_) return refused_ ? "" : ras_checks(job);
  return json_ ? ras_json(job, versions) : ras_text(job, versions, verbose_);
}

std::string RasSession::events(const std::vector<RasEvent>& events) const {
  std::string out;
  for (const RasEvent& event : events) {
    if ((events_ & static_cast<unsigned>(event.group)) != 0)
      out += json_ ? event_json(event) : event_text(event);
  }
  return out;
}

}  // namespace weir::survey
