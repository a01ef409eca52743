// SPDX-License-Identifier: Apache-2.0

#include "bench/perf/launch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

namespace weir::perf {
namespace {

constexpr const char* kLaunched = "WEIR_PERF_LAUNCHED";

}  // namespace

bool was_launched() {
  bool launched = std::getenv(kLaunched) != nullptr;
  unsetenv(kLaunched);
  return launched;
}

Outcome launch(const PerfOptions& options, int argc, char** argv) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error)
    return Outcome::failure(ExitCode::internal, fmt::format("cannot find this program: {}", error.message()));
  const std::string launcher = self.parent_path() / "weir";
  // With bind=core, all threads of a process would share one core.
  const std::string bind = options.bind == "auto" && options.threads > 1 ? "none" : options.bind;
  std::vector<std::string> words = {"weir", "run", "-n", std::to_string(options.ranks), "--bind", bind,
                                    // The table needs no prefixes; the processes bring an id of their own.
                                    "--plain", "--comm-id", "none", "--", self.string()};
  words.insert(words.end(), argv + 1, argv + argc);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  setenv(kLaunched, "1", 1);
  execv(launcher.c_str(), arguments.data());
  return Outcome::failure(ExitCode::usage,
                          fmt::format("--ranks needs the launcher {}: {}", launcher, strerror(errno)));
}

}  // namespace weir::perf
