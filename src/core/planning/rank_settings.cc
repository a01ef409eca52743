// SPDX-License-Identifier: Apache-2.0

#include "src/core/planning/rank_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "src/base/printable.h"

namespace weir::core {
namespace {

/// The two ends of a channel count its slots, and send or expect what the check of calls compares.
constexpr std::array<std::string_view, 4> kSame = {"WEIR_CHECK", "WEIR_PRETEND", "WEIR_SLOTS",
                                                   "WEIR_SLOT_BYTES"};

/// SharedSettings has them.
constexpr std::array<std::string_view, 6> kOfRankZero = {
    "NCCL_ALGO", "NCCL_MAX_NCHANNELS", "NCCL_MIN_NCHANNELS", "NCCL_PROTO", "WEIR_ALGO", "WEIR_FAST"};

/// Rank 0 reads them, so other ranks need not have them, and paths may differ between hosts.
constexpr std::array<std::string_view, 5> kFilesOfRankZero = {
    "NCCL_GRAPH_FILE", "NCCL_TUNER_PLUGIN", "WEIR_COST_FILE", "WEIR_FABRIC_FILE", "WEIR_PLAN_FILE"};

/// Also those whose names begin with NCCL_IB_. WEIR_TRANSPORTS is known from what ranks offer.
constexpr std::array<std::string_view, 7> kOfRoutes = {
    "NCCL_HOSTID",        "NCCL_NET",           "NCCL_NET_PLUGIN", "NCCL_SHM_DISABLE",
    "NCCL_SOCKET_FAMILY", "NCCL_SOCKET_IFNAME", "WEIR_ADVERTISE"};

bool is_in(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

/// "rank 3", "ranks 0, 1 and 2" or "ranks 0, 1, 2, 3 and 60 more".
std::string ranks_words(const std::vector<size_t>& ranks) {
  constexpr size_t kMostNamed = 4;
  if (ranks.size() == 1) return fmt::format("rank {}", ranks[0]);
  const size_t named = ranks.size() <= kMostNamed ? ranks.size() - 1 : kMostNamed;
  const std::string first = fmt::format("{}", fmt::join(std::span(ranks).first(named), ", "));
  if (ranks.size() <= kMostNamed) return fmt::format("ranks {} and {}", first, ranks.back());
  return fmt::format("ranks {} and {} more", first, ranks.size() - named);
}

std::string shown(const std::string& value) { return value.empty() ? "not set" : value; }

/// The ranks of each value, the value of the lowest rank first.
using Holders = std::vector<std::pair<std::string, std::vector<size_t>>>;

Holders holders_of(std::span<const RankSettings> by_rank, const std::string& name) {
  Holders holders;
  for (size_t rank = 0; rank < by_rank.size(); ++rank) {
    const std::string value = by_rank[rank].value(name);
    auto same = std::ranges::find(holders, value, &Holders::value_type::first);
    if (same == holders.end()) same = holders.insert(holders.end(), {value, {}});
    same->second.push_back(rank);
  }
  return holders;
}

}  // namespace

RankSettings RankSettings::of(const Options& options) {
  const Options defaults;
  RankSettings settings;
  for (const OptionRow& row : option_table()) {
    if (!is_in(kSame, row.name) && !is_in(kOfRankZero, row.name) && !is_in(kFilesOfRankZero, row.name))
      continue;
    const std::string value = value_text(options, row);
    if (value != value_text(defaults, row)) settings.changed.emplace(row.name, value);
  }
  return settings;
}

void RankSettings::put(ByteWriter& out) const {
  out.put(static_cast<uint32_t>(changed.size()));
  for (const auto& [name, value] : changed) out.put_string(name).put_string(value);
}

RankSettings RankSettings::get(ByteReader& in) {
  RankSettings settings;
  const size_t count = in.count(2 * sizeof(uint32_t));
  for (size_t i = 0; i < count && in.ok(); ++i) {
    std::string name = printable(in.get_string());
    settings.changed.insert_or_assign(std::move(name), printable(in.get_string()));
  }
  return settings;
}

std::string RankSettings::value(const std::string& name) const {
  if (const auto found = changed.find(name); found != changed.end()) return found->second;
  const auto rows = option_table();
  const auto row = std::ranges::find(rows, name, &OptionRow::name);
  return row == rows.end() ? std::string() : value_text(Options(), *row);
}

Status check_same(std::span<const RankSettings> by_rank) {
  for (const std::string_view one : kSame) {
    const std::string name(one);
    if (std::ranges::none_of(by_rank, [&](const RankSettings& rank) { return rank.changed.contains(name); }))
      continue;
    const Holders holders = holders_of(by_rank, name);
    if (holders.size() == 1) continue;
    std::string values;
    for (const auto& [value, ranks] : holders)
      values += fmt::format("{}{} on {}", values.empty() ? "" : ", ", shown(value), ranks_words(ranks));
    return {Code::invalid_usage,
            fmt::format("{} is {}; expected the same value on all ranks of a communicator", name, values)};
  }
  return {};
}

std::map<std::string, std::string> settings_of_routes(const Options& options, const std::string& network) {
  std::map<std::string, std::string> settings;
  for (const OptionRow& row : option_table()) {
    if (is_in(kOfRoutes, row.name) || row.name.starts_with("NCCL_IB_"))
      settings.emplace(row.name, value_text(options, row));
  }
  if (std::string& chosen = settings["NCCL_NET"]; chosen.empty()) chosen = network;
  return settings;
}

std::vector<std::string> overruled(std::span<const RankSettings> by_rank) {
  std::map<std::string, std::map<std::string, std::vector<size_t>>> without_effect;
  for (size_t rank = 1; rank < by_rank.size(); ++rank) {
    for (const auto& [name, value] : by_rank[rank].changed) {
      const bool is_file = is_in(kFilesOfRankZero, name);
      const bool differs = is_file ? !by_rank[0].changed.contains(name) : value != by_rank[0].value(name);
      if (differs && (is_file || is_in(kOfRankZero, name))) without_effect[name][value].push_back(rank);
    }
  }
  std::vector<std::string> sentences;
  for (const auto& [name, values] : without_effect) {
    for (const auto& [value, ranks] : values)
      sentences.push_back(fmt::format(
          "{}={} on {} has no effect: the value of rank 0 applies to all ranks, and there it is {}", name,
          value, ranks_words(ranks), shown(by_rank[0].value(name))));
  }
  return sentences;
}

}  // namespace weir::core
