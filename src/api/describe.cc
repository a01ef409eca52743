#pragma GCC visibility push(default)
#include "weir/describe.h"
#pragma GCC visibility pop

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <set>

#include "src/api/process.h"
#include "src/base/host.h"
#include "src/base/interfaces.h"

namespace weir::api {
namespace {

std::string plural(int count, const char* word) {
  return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}

/// How many entries of `folder` are called `prefix` and a number.
int count_numbered(const char* folder, std::string_view prefix) {
  std::error_code error;
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename();
    const std::string_view number =
        name.starts_with(prefix) ? std::string_view(name).substr(prefix.size()) : "";
    count += !number.empty() &&
             std::all_of(number.begin(), number.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
  }
  return count;
}

std::string gpus() {
  std::error_code error;
  const int nvidia = count_numbered("/dev", "nvidia");
  const bool amd = std::filesystem::exists("/dev/kfd", error);
  if (nvidia > 0) return plural(nvidia, "NVIDIA GPU") + " (not used)";
  return amd ? "AMD GPUs (not used)" : "no GPU";
}

std::string network(const Options& options) {
  std::set<std::string> names;
  if (const auto interfaces = list_interfaces(); interfaces.ok()) {
    for (const Interface& interface : interfaces.value()) {
      if (interface.name != "lo") names.insert(interface.name);
    }
  }
  const auto choice = choose_interface({options.socket_ifname, options.socket_family, std::nullopt});
  const std::string chosen = choice.ok() ? choice.value().interface.name : "none usable";
  return names.empty() ? fmt::format("no NIC (network {})", chosen)
                       : fmt::format("{} {} (network {})", names.size() == 1 ? "NIC" : "NICs",
                                     fmt::join(names, " "), chosen);
}

std::string transports(const Options& options) {
  std::string names = options.transports;
  std::replace(names.begin(), names.end(), ',', ' ');
  return names;
}

std::string describe() {
  const Options& options = runtime().options();
  return fmt::format("weir {}: {}, {}, {}, {}, transports {}", WEIR_VERSION, plural(machine_cores(), "core"),
                     plural(std::max(1, count_numbered("/sys/devices/system/node", "node")), "NUMA node"),
                     gpus(), network(options), transports(options));
}

}  // namespace
}  // namespace weir::api

int weirDescribe(char* buffer, size_t size) {
  const std::string text = weir::api::describe();
  if (buffer != nullptr && size > 0) {
    const size_t length = std::min(text.size(), size - 1);
    std::memcpy(buffer, text.data(), length);
    buffer[length] = '\0';
  }
  return static_cast<int>(text.size());
}
