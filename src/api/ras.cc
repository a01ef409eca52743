// SPDX-License-Identifier: Apache-2.0

#include "src/api/ras.h"

#include <fmt/format.h>

#include "src/api/process.h"
#include "src/base/log.h"
#include "src/core/communicator/process_plugins.h"

namespace weir::api {
namespace {

std::weak_ptr<survey::RasServer>& open_server() {
  static std::weak_ptr<survey::RasServer> server;
  return server;
}

/// Parses an address; avoids the resolver for the default one.
Result<SocketAddress> address_of(const std::string& text) {
  constexpr std::string_view kLocal = "localhost:28028";
  return text == kLocal ? SocketAddress::loopback(AF_INET, 28028) : SocketAddress::parse(text);
}

Result<std::shared_ptr<survey::RasServer>> start() {
  core::Runtime& process = runtime();
  const Options& options = process.options();
  const auto address = address_of(options.ras_address);
  WEIR_TRY(address.status());
  const auto readers = parse_report_readers(options.reports);
  WEIR_TRY(readers.status());
  survey::RasServer::Setup setup;
  setup.readers = *readers;
  setup.address = *address;
  setup.timeout_factor = options.ras_timeout_factor;
  const int64_t version = options.nccl_version;
  setup.versions.nccl = fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
  setup.own = [&process] {
    return core::report_of(process.activities(), process.host(), {.recent = 0, .channels = false});
  };
  setup.set_profiler_mask = core::force_profiler_mask;
  setup.access = [&process] { return process.report_access(); };
  auto server = survey::RasServer::start(std::move(setup));
  WEIR_TRY(server.status());
  return std::shared_ptr<survey::RasServer>(std::move(*server));
}

}  // namespace

std::shared_ptr<survey::RasServer> ras_server() {
  if (!runtime().options().ras) return nullptr;
  if (auto server = open_server().lock()) return server;
  auto server = start();
  if (!server.ok()) {
    const bool wrong =
        server.status().code() == Code::invalid_argument;  // a port in use is usual: ranks share it
    if (wrong) WEIR_WARN("NCCL_RAS_ADDR={}: {}", runtime().options().ras_address, server.status().message());
    if (!wrong) WEIR_INFO(init, "the RAS port is not available: {}", server.status().message());
    return nullptr;
  }
  WEIR_INFO(init, "RAS client listening socket at {}", (*server)->address().text());
  open_server() = *server;
  return *server;
}

void forget_ras_server() {
  if (const auto server = open_server().lock()) server->abandon();
  open_server().reset();
}

}  // namespace weir::api
