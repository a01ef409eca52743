// SPDX-License-Identifier: Apache-2.0

#include "src/drivers/tuner.h"

#include <fmt/format.h>

#include <optional>
#include <type_traits>

#include "src/base/log.h"
#include "src/drivers/plugin_file.h"

namespace weir::drivers {
namespace {

using tuner_abi::Constants;
using tuner_abi::Domains;
using tuner_abi::TableV2;
using tuner_abi::TableV3;
using tuner_abi::TableV4;
using tuner_abi::TableV5;
using tuner_abi::TableV6;

/// NCCL's constants, which plugins expect and may change. Their changes have no effect: weir measures costs.
Constants nccl_constants() {
  constexpr int kTree = 0, kRing = 1, kDirect = 2, kChain = 3, kNvls = 4, kNvlsTree = 5, kPat = 6;
  constexpr int kSimple = 2;
  Constants all{};
  const auto set = [](double(&row)[tuner_abi::kProtocols], double ll, double ll128, double simple) {
    row[0] = ll;
    row[1] = ll128;
    row[2] = simple;
  };
  set(all.base_latencies[kTree], 6.8, 14, 8.4);
  set(all.base_latencies[kRing], 6.6, 14, 8.4);
  set(all.link_latencies[0][kTree], 0.6, 1.25, 4);
  set(all.link_latencies[0][kRing], 0.6, 1.9, 3.4);
  set(all.link_latencies[1][kTree], 1, 1.9, 4);
  set(all.link_latencies[1][kRing], 1, 2.5, 5.7);
  set(all.link_latencies[2][kTree], 5, 8.5, 14);
  set(all.link_latencies[2][kRing], 2.7, 4, 14);
  const auto set_simple = [&](int algorithm, double base, double nvlink, double pci, double network) {
    all.base_latencies[algorithm][kSimple] = base;
    all.link_latencies[0][algorithm][kSimple] = nvlink;
    all.link_latencies[1][algorithm][kSimple] = pci;
    all.link_latencies[2][algorithm][kSimple] = network;
  };
  set_simple(kDirect, 0, 3.7, 3.7, 31);
  set_simple(kChain, 0, 2.8, 2.8, 30);
  set_simple(kNvls, 0, 25, 0, 18);
  set_simple(kNvlsTree, 0, 25, 0, 20.9);
  set_simple(kPat, 8, 4, 4, 14);
  using Rates = double[tuner_abi::kGenerations][tuner_abi::kScales];
  const auto copy = [](Rates& to, const Rates& from) {
    for (int g = 0; g < tuner_abi::kGenerations; ++g)
      for (int s = 0; s < tuner_abi::kScales; ++s) to[g][s] = from[g][s];
  };
  copy(all.most_ll, {{39, 39, 20.4}, {87.7, 22.5, 19}, {141, 45, 35}, {282, 90, 70}});
  copy(all.most_ring_ll128, {{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 36.7}, {40, 40, 40}});
  copy(all.most_tree_ll128, {{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29}, {55.6, 31.67, 20}});
  copy(all.most_tree, {{26.5, 18.5, 10}, {24, 23.6, 17.8}, {38.7, 41.4, 36}, {70, 42.8, 24}});
  copy(all.most_nvls_tree, {{26.5, 18.5, 10}, {24, 23.6, 17.8}, {0, 57.7, 45.5}, {0, 96, 80}});
  return all;
}

Status incomplete(const std::string& file, int version) {
  return {Code::system_error,
          fmt::format("tuner plugin {}: the table ncclTunerPlugin_v{} lacks a name or a function", file,
                      version)};
}

}  // namespace

std::string_view name(TunedAlgorithm algorithm) {
  constexpr std::string_view kNames[] = {"Tree",     "Ring", "CollNetDirect", "CollNetChain", "NVLS",
                                         "NVLSTree", "PAT"};
  return kNames[static_cast<size_t>(algorithm)];
}

std::string_view name(TunedProtocol protocol) {
  constexpr std::string_view kNames[] = {"LL", "LL128", "Simple"};
  return kNames[static_cast<size_t>(protocol)];
}

Result<std::unique_ptr<Tuner>> Tuner::load(const TunerSpec& spec) {
  auto found = find_plugin({.kind = "tuner",
                            .variable = "NCCL_TUNER_PLUGIN",
                            .symbol = "ncclTunerPlugin_v",
                            .newest = 6,
                            .oldest = 2,
                            .name = spec.plugin,
                            .net_plugins = spec.net_plugins});
  WEIR_TRY(found.status());
  if (!*found) return std::unique_ptr<Tuner>();
  FoundPlugin& plugin = **found;
  std::unique_ptr<Tuner> tuner(new Tuner(std::move(plugin.opened), plugin.file, plugin.version));
  WEIR_TRY(tuner->start(spec, plugin.table));
  WEIR_INFO(init, "TUNER/Plugin: Using {} (v{}) of {}", tuner->name_, tuner->version_, tuner->file_);
  return tuner;
}

Status Tuner::start(const TunerSpec& spec, const void* table) {
  switch (version_) {
    case 2: return begin(*static_cast<const TableV2*>(table), spec);
    case 3: return begin(*static_cast<const TableV3*>(table), spec);
    case 4: return begin(*static_cast<const TableV4*>(table), spec);
    case 5: return begin(*static_cast<const TableV5*>(table), spec);
    default: return begin(*static_cast<const TableV6*>(table), spec);
  }
}

template <typename Table>
Status Tuner::begin(const Table& table, const TunerSpec& spec) {
  if (table.name == nullptr || table.init == nullptr || table.ask == nullptr || table.finalize == nullptr)
    return incomplete(file_, version_);
  name_ = table.name;
  ask_ = table.ask;
  if constexpr (std::is_same_v<Table, TableV6>) ask_chunk_ = table.ask_chunk;
  if constexpr (std::is_base_of_v<TableV5, Table>) {
    Domains domains{static_cast<int>(spec.nodes), spec.least_ranks_per_node, spec.most_ranks_per_node};
    Constants constants = nccl_constants();
    WEIR_TRY(check(
        table.init(&context_, spec.communicator, spec.ranks, spec.nodes, log_of_plugin, &domains, &constants),
        "init"));
  } else {
    WEIR_TRY(check(table.init(spec.ranks, spec.nodes, log_of_plugin, &context_), "init"));
  }
  finalize_ = table.finalize;
  return {};
}

Tuner::~Tuner() {
  if (finalize_ == nullptr) return;
  WEIR_INFO(init, "TUNER/Plugin: Closing tuner: '{}'", name_);
  const Status ended = check(finalize_(context_), version_ <= 4 ? "destroy" : "finalize");
  if (!ended.ok()) WEIR_INFO(init, "{}", ended.message());
}

Status Tuner::ask(TunedFunction function, size_t bytes, TunedCosts& costs, int& channels) {
  channels = 0;
  const int number = static_cast<int>(function);
  auto* const table = reinterpret_cast<float**>(costs.us.data());
  constexpr int kOperations = 1, kRegistered = 0;
  const auto ask_one = [&](auto* ask) {
    using Kind = std::remove_pointer_t<decltype(ask)>;
    if constexpr (std::is_same_v<Kind, tuner_abi::Ask>) {
      return ask(context_, number, bytes, kOperations, table, tuner_abi::kAlgorithms, tuner_abi::kProtocols,
                 kRegistered, &channels);
    } else if constexpr (std::is_same_v<Kind, tuner_abi::AskV3>) {
      return ask(context_, number, bytes, kOperations, table, tuner_abi::kAlgorithms, tuner_abi::kProtocols,
                 &channels);
    } else {
      const auto offers = [&](TunedAlgorithm one) {
        return costs.at(one, TunedProtocol::simple) >= 0 ? 1 : 0;
      };
      const int nvls = offers(TunedAlgorithm::nvls) | offers(TunedAlgorithm::nvls_tree);
      int algorithm = -1, protocol = -1;
      const int result = ask(context_, number, bytes, offers(TunedAlgorithm::collnet_chain), nvls,
                             kOperations, &algorithm, &protocol, &channels);
      if (result == 0 && algorithm >= 0 && algorithm < tuner_abi::kAlgorithms && protocol >= 0 &&
          protocol < tuner_abi::kProtocols)
        costs.us[static_cast<size_t>(algorithm)][static_cast<size_t>(protocol)] = 0;
      return result;
    }
  };
  return check(std::visit(ask_one, ask_), "getCollInfo");
}

Status Tuner::ask_chunk(TunedFunction function, size_t bytes, TunedAlgorithm algorithm,
                        TunedProtocol protocol, int channels, size_t& chunk) {
  if (ask_chunk_ == nullptr) return {};
  return check(ask_chunk_(context_, static_cast<int>(function), bytes, static_cast<int>(algorithm),
                          static_cast<int>(protocol), channels, &chunk),
               "getChunkSize");
}

Status Tuner::check(int result, const char* call) const {
  if (result == 0) return {};
  return plugin_result(result, fmt::format("tuner plugin {} ({}, version {})", name_, file_, version_), call);
}

}  // namespace weir::drivers
