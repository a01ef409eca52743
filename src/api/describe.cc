// SPDX-License-Identifier: Apache-2.0

#pragma GCC visibility push(default)
#include "weir/describe.h"
#pragma GCC visibility pop

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "src/api/process.h"
#include "src/base/host.h"
#include "src/base/text.h"
#include "src/net/interfaces.h"

namespace weir::api {
namespace {

std::string network(const Options& options) {
  const auto choice = choose_interface({options.socket_ifname, options.socket_family, std::nullopt});
  return choice.ok() ? choice.value().interface.name : "no usable interface";
}

std::string transports(const Options& options) {
  std::string names = options.transports;
  std::replace(names.begin(), names.end(), ',', ' ');
  return names;
}

std::string describe() {
  const Options& options = runtime().options();
  return fmt::format("weir {}: {}, {}, bootstrap through {}; ranks may use {}", WEIR_VERSION,
                     plural(machine_cores(), "core"), runtime().local_host().describe(), network(options),
                     transports(options));
}

}  // namespace
}  // namespace weir::api

int weirDescribe(char* buffer, size_t size) {
  std::string text;
  weir::api::report([&] {
    text = weir::api::describe();
    return weir::Status();
  });
  if (buffer != nullptr && size > 0) {
    const size_t length = std::min(text.size(), size - 1);
    std::memcpy(buffer, text.data(), length);
    buffer[length] = '\0';
  }
  return static_cast<int>(text.size());
}
