// SPDX-License-Identifier: Apache-2.0

#include "src/cli/launch_part.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "src/cli/words.h"

extern char** environ;

namespace weir::cli {
namespace {

/// Beginnings of variables that mean the same on all hosts, and those of one host among them.
constexpr std::array kPassed = {
    "NCCL_",  "RCCL_",       "WEIR_", "UCX_", "OMP_", "MKL_", "TORCH", "PATH=", "LD_LIBRARY_PATH=",
    "PYTHON", "VIRTUAL_ENV="};
constexpr std::array kKept = {"NCCL_HOSTID=", "NCCL_COMM_ID="};

Status invalid(std::string sentence) { return {Code::invalid_argument, std::move(sentence)}; }

/// Records, each ended by a zero byte: a word, a space, and a value.
class Part {
 public:
  void add(std::string_view word, std::string_view value) {
    records_ += fmt::format("{} {}", word, value);
    records_ += '\0';
  }
  void add(std::string_view word, int64_t value) { add(word, std::string_view(std::to_string(value))); }
  std::string take() const {
    return fmt::format("weir {} part {}\n", WEIR_VERSION, records_.size()) + records_;
  }

 private:
  std::string records_;
};

void add_environment(Part& part, const LaunchRequest& request) {
  const auto begins = [](std::string_view text, const auto& names) {
    return std::ranges::any_of(names, [&](const char* name) { return text.starts_with(name); });
  };
  for (char** variable = environ; *variable != nullptr; ++variable)
    if (begins(*variable, kPassed) && !begins(*variable, kKept)) part.add("set", *variable);
  for (const auto& [name, value] : request.environment) part.add("set_for_ranks", name + "=" + value);
}

/// Reads until `wanted` bytes are there, or a newline if that is 0. Empty: the input has ended.
std::string read_some(int input, size_t wanted) {
  std::string text;
  while (wanted == 0 ? !text.ends_with('\n') && text.size() < 100 : text.size() < wanted) {
    std::array<char, 4096> buffer{};
    const size_t most = wanted == 0 ? 1 : std::min(buffer.size(), wanted - text.size());  // orders follow
    const ssize_t got = read(input, buffer.data(), most);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return {};
    text.append(buffer.data(), static_cast<size_t>(got));
  }
  return text;
}

Status take_record(std::string_view word, const std::string& value, LaunchRequest& request) {
  const int digits = number(value).value_or(0);
  if (word == "host_ranks") request.host_ranks.push_back(digits), request.ranks += digits;
  if (word == "host") request.host = digits;
  if (word == "bind") request.bind = static_cast<BindMode>(digits);
  if (word == "keep_going") request.policy.keep_going = digits != 0;
  if (word == "grace") request.policy.grace = std::chrono::seconds(digits);
  if (word == "plain") request.plain = digits != 0;
  if (word == "comm_id") request.comm_id = value;
  if (word == "preload") request.preload = value;
  if (word == "heap") request.heap = value;
  if (word == "command") request.command.push_back(value);
  const std::string name = value.substr(0, value.find('='));
  const std::string rest = value.substr(std::min(name.size() + 1, value.size()));
  if (word == "set") setenv(name.c_str(), rest.c_str(), 1);
  if (word == "set_for_ranks") request.environment.emplace_back(name, rest);
  if (word != "folder" || chdir(value.c_str()) == 0) return {};
  return invalid(
      fmt::format("the folder {} cannot be entered: {}; expected the folder of weir run on each host", value,
                  strerror(errno)));
}

}  // namespace

std::string part_of(const LaunchRequest& request) {
  Part part;
  for (const int count : request.host_ranks) part.add("host_ranks", count);
  part.add("host", request.host);
  part.add("folder", std::filesystem::current_path().string());
  part.add("bind", static_cast<int>(request.bind));
  part.add("keep_going", request.policy.keep_going);
  part.add("grace", request.policy.grace.count());
  part.add("plain", request.plain);
  part.add("comm_id", *request.comm_id);
  part.add("preload", request.preload);
  part.add("heap", request.heap);
  add_environment(part, request);
  for (const std::string& word : request.command) part.add("command", word);
  return part.take();
}

Result<LaunchRequest> read_part(int input) {
  const std::vector<std::string> header = split(read_some(input, 0), ' ');
  if (header.size() != 4 || header[0] != "weir" || header[2] != "part")
    return invalid("--part is what weir run --hosts uses on other hosts; expected its message as input");
  if (header[1] != WEIR_VERSION)
    return invalid(fmt::format("weir run --hosts is version {}, and this host has {}; expected the same",
                               header[1], WEIR_VERSION));
  const auto bytes = number(std::string_view(header[3]).substr(0, header[3].size() - 1));
  const std::string records = bytes && *bytes > 0 ? read_some(input, static_cast<size_t>(*bytes)) : "";
  if (records.empty()) return invalid("the message of weir run --hosts has ended early");
  LaunchRequest request;
  request.ranks = 0;
  for (const std::string& record : split(records, '\0')) {
    const size_t space = record.find(' ');
    if (space == std::string::npos) return invalid("the message of weir run --hosts is damaged");
    WEIR_TRY(take_record(std::string_view(record).substr(0, space), record.substr(space + 1), request));
  }
  if (request.command.empty() || request.host < 0 ||
      request.host >= static_cast<int>(request.host_ranks.size()))
    return invalid("the message of weir run --hosts is damaged");
  request.policy.orders = input;
  return request;
}

}  // namespace weir::cli
