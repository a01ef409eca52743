// SPDX-License-Identifier: Apache-2.0

#include "src/survey/ras_session.h"

#include <fmt/format.h>

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <optional>

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

std::string RasSession::report(const Job& job, const RasVersions& versions) const {
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
