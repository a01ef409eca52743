// SPDX-License-Identifier: Apache-2.0

#include "trainer/run/launch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "trainer/run/shared_errors.h"

namespace weir::trainer {
namespace {

/// "RANK=1, WORLD_SIZE=4": the variables by which a launcher was found.
std::string launcher_words(const Lookup& variables) {
  for (const LauncherVariables& launcher : kLaunchers)
    if (number_in(variables(launcher.rank)) && number_in(variables(launcher.size)))
      return fmt::format("{}={}, {}={}", launcher.rank, variables(launcher.rank), launcher.size,
                         variables(launcher.size));
  return {};
}

}  // namespace

Result<bool> starts_ranks(const Launch& launch, const Lookup& variables) {
  const auto launched = find_launched(variables);
  if (!launch.asked() || launch.started || !launched) return launch.asked() && !launch.started;
  if (!launch.hosts.empty()) {
    if (launched->size == 1) return true;  // as in a shell that srun has started
    return Status(
        Code::invalid_argument,
        fmt::format("--hosts is {}, but another launcher has started this process as one of {} ranks ({}); "
                    "expected --hosts outside of other launchers, or the launcher without --hosts",
                    launch.hosts, launched->size, launcher_words(variables)));
  }
  if (launched->wrong.empty() && launched->size != launch.ranks + launch.spares)
    return Status(Code::invalid_argument,
                  fmt::format("--ranks is {}, but by its variables ({}) another launcher started {}; "
                              "expected --ranks without a launcher and without its variables, or the "
                              "launcher without --ranks",
                              launch.ranks, launcher_words(variables), launched->size));
  return false;
}

Status start_ranks(const Launch& launch, char** arguments) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return Status(Code::system_error, fmt::format("cannot find this program: {}", error.message()));
  const std::string launcher = self.parent_path() / "weir";
  std::vector<std::string> words = {"weir", "run", "--plain", "--grace", "0"};
  if (launch.ranks > 0) words.insert(words.end(), {"-n", std::to_string(launch.ranks + launch.spares)});
  if (!launch.hosts.empty()) words.insert(words.end(), {"--hosts", launch.hosts});
  if (launch.regroups) words.emplace_back("--keep-going");
  words.insert(words.end(), {"--", self.string(), fmt::format("{}{}", kStarted, open_shared_errors())});
  for (char** word = arguments + 1; *word != nullptr; ++word) words.emplace_back(*word);
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  execv(launcher.c_str(), pointers.data());
  return Status(Code::system_error,
                fmt::format("--ranks and --hosts need the launcher {}: {}", launcher, std::strerror(errno)));
}

}  // namespace weir::trainer
