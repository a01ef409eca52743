// SPDX-License-Identifier: Apache-2.0

#include "transports/transports.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>

#include "src/base/log.h"
#include "src/base/text.h"
#include "transports/matched/net_plugin.h"
#include "transports/memory/cma.h"
#include "transports/memory/loop.h"
#include "transports/memory/shm.h"
#include "transports/paced.h"
#include "transports/tcp/tcp.h"
#include "transports/ucx/ucx.h"
#include "transports/unused_transport.h"
#include "transports/verbs/verbs.h"

namespace weir {
namespace {

struct Kind {
  std::string_view name;
  std::unique_ptr<Transport> (*make)(const TransportContext& context, const Options& options);
  bool plain = false;  ///< sends bytes over networks, and cannot encrypt them
};

std::unique_ptr<Transport> loop(const TransportContext& context, const Options&) {
  return make_loop(context.self, context.segment, context.local_segments, context.memory);
}

std::unique_ptr<Transport> shm(const TransportContext& context, const Options& options) {
  return make_shm(context.self, context.segment, options.shm_disable, context.memory);
}

std::unique_ptr<Transport> cma(const TransportContext& context, const Options&) {
  return make_cma(context.self);
}

/// For networks without their own pacing: adds a token bucket to each sender.
std::unique_ptr<Transport> paced(std::unique_ptr<Transport> transport, const Options& options) {
  return options.pace_share > 0 ? make_paced(std::move(transport)) : std::move(transport);
}

/// The environment overrides the program's choice.
const std::string& network_of(const TransportContext& context, const Options& options) {
  return options.network.empty() ? context.network.name : options.network;
}

std::unique_ptr<Transport> net_plugin(const TransportContext& context, const Options& options) {
  if (context.listener == nullptr)
    return make_net_plugin(context.self, nullptr,
                           Status(Code::invalid_usage, "this process does not listen on any address"));
  const drivers::NetPluginSpec spec{.plugins = options.net_plugins,
                                    .network = network_of(context, options),
                                    .communicator = context.self.uid,
                                    .traffic_class = context.network.traffic_class};
  return paced(make_net_plugin(context.self, context.listener, drivers::NetPlugin::load(spec)), options);
}

std::unique_ptr<Transport> verbs(const TransportContext& context, const Options& options) {
  const std::string& network = network_of(context, options);
  if (network.empty() || equals_ignoring_case(network, "IB"))
    return paced(
        make_verbs(context.self, context.listener, context.verbs ? context.verbs() : drivers::load_verbs(),
                   options, context.nearest),
        options);
  return make_verbs(
      context.self, context.listener,
      Status(
          Code::invalid_usage,
          fmt::format("network \"{}\" is selected (NCCL_NET); expected \"IB\" for transport verbs", network)),
      options);
}

/// Null where the user leaves the network open, or has chosen that of the transport; otherwise its stand-in.
std::unique_ptr<Transport> stand_in(std::string_view transport, std::string_view own,
                                    const TransportContext& context, const Options& options) {
  const std::string& network = network_of(context, options);
  if (network.empty() || equals_ignoring_case(network, own)) return nullptr;
  return make_unused_transport(
      std::string(transport),
      fmt::format(
          "network \"{}\" is selected (NCCL_NET, or netName of the configuration); expected \"{}\" for "
          "transport {}",
          network, own, transport));
}

std::unique_ptr<Transport> ucx(const TransportContext& context, const Options& options) {
  if (auto instead = stand_in("ucx", "UCX", context, options)) return instead;
  return paced(make_ucx(context.self), options);
}

std::unique_ptr<Transport> tcp(const TransportContext& context, const Options& options) {
  if (auto instead = stand_in("tcp", "Socket", context, options)) return instead;
  TcpSettings settings;
  settings.streams = static_cast<uint32_t>(options.sockets_per_channel);
  settings.path_timeout_s = options.path_timeout_s;
  settings.spreads = options.spreads_paths;
  settings.budget = options.credit_bytes == 0 ? nullptr : context.credit;
  settings.budget_for_local_host = options.credit_bytes > 0;
  return make_tcp(context.self, context.listener, settings);
}

/// In order of preference.
constexpr std::array kKinds = {
    Kind{"loop", loop},         Kind{"shm", shm},
    Kind{"cma", cma},           Kind{"net_plugin", net_plugin, true},
    Kind{"verbs", verbs, true}, Kind{"ucx", ucx, true},
    Kind{"tcp", tcp},
};

std::string known_names() {
  std::string names;
  for (const Kind& kind : kKinds) names += fmt::format("{}{}", names.empty() ? "" : ", ", kind.name);
  return names;
}

/// Splits a list at commas; ignores spaces around the words.
std::set<std::string> words_of(std::string_view list) {
  std::set<std::string> words;
  while (!list.empty()) {
    const std::string_view item = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), item.size() + 1));
    const size_t first = item.find_first_not_of(' ');
    if (first == std::string_view::npos) continue;
    words.emplace(item.substr(first, item.find_last_not_of(' ') - first + 1));
  }
  return words;
}

}  // namespace

Result<std::vector<std::unique_ptr<Transport>>> make_transports(const TransportContext& context,
                                                                const Options& options) {
  std::set<std::string> wanted = words_of(options.transports);
  if (wanted.empty()) {
    return Status(Code::invalid_argument,
                  fmt::format("WEIR_TRANSPORTS=\"{}\" names no transport; expected one or more of {}",
                              options.transports, known_names()));
  }
  std::vector<std::unique_ptr<Transport>> transports;
  for (const Kind& kind : kKinds) {
    if (wanted.erase(std::string(kind.name)) == 0) continue;
    if (kind.plain && context.self.credentials.tls != nullptr)
      WEIR_INFO(net, "transport {} is not used: it cannot encrypt, as WEIR_TLS asks for", kind.name);
    else
      transports.push_back(kind.make(context, options));
  }
  if (!wanted.empty()) {
    return Status(Code::invalid_argument,
                  fmt::format("WEIR_TRANSPORTS=\"{}\" names \"{}\"; expected one or more of {}",
                              options.transports, *wanted.begin(), known_names()));
  }
  if (transports.empty()) {
    return Status(
        Code::invalid_usage,
        fmt::format("WEIR_TRANSPORTS=\"{}\" names no transport that can encrypt, as WEIR_TLS asks for; "
                    "expected tcp among them",
                    options.transports));
  }
  return transports;
}

}  // namespace weir
