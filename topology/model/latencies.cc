// SPDX-License-Identifier: Apache-2.0

#include "topology/model/latencies.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "src/base/text.h"

namespace weir::topology {
namespace {

constexpr double kMostMicroseconds = 1e6;

struct NamedLatency {
  std::string_view option;
  std::string_view words;
  LinkKind kind;
  double Latencies::*value;
};

/// Sources of the defaults (docs/planning.md has the table): NCCL's and RCCL's src/graph/tuning.cc for a step
/// of a ring or tree with the protocol LL, which does little more than wait for the data: 0.47 to 0.6 us by
/// NVLink, 1.2 by xGMI, 1.0 by PCIe between two GPUs (two links), 2.7 by a network (four PCIe links, two
/// NICs, and two cables with a switch of 0.13 to 0.5 us). Work for a message: measured
/// (docs/lab/gpu-h200.md). Estimated: C2C and NUMA nodes.
constexpr std::array<NamedLatency, 7> kNamedLatencies = {{
    {"nvlink", "NVLink", LinkKind::nvlink, &Latencies::nvlink},
    {"xgmi", "xGMI", LinkKind::xgmi, &Latencies::xgmi},
    {"c2c", "C2C", LinkKind::c2c, &Latencies::c2c},
    {"pcie", "PCIe", LinkKind::pci, &Latencies::pcie},
    {"cpu", "NUMA nodes", LinkKind::cpu, &Latencies::cpu},
    {"nic", "NIC", LinkKind::inner, &Latencies::nic},
    {"network", "network cable", LinkKind::cable, &Latencies::network},
}};

Result<double> microseconds(std::string_view name, std::string_view value) {
  double read = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), read);
  if (error == std::errc() && end == value.data() + value.size() && read >= 0 && read <= kMostMicroseconds)
    return read;
  return Status(Code::invalid_argument,
                fmt::format("{} is \"{}\"; expected microseconds, a number from 0 to {:g}", name,
                            value.substr(0, 60), kMostMicroseconds));
}

}  // namespace

Result<Latencies> parse_latencies(std::string_view text) {
  Latencies latencies;
  for (const std::string_view part : split_list(text)) {
    const size_t equals = part.find('=');
    if (equals == std::string_view::npos) {
      const auto all = microseconds("the latency of all links", part);
      WEIR_TRY(all.status());
      for (const NamedLatency& choice : kNamedLatencies) latencies.*choice.value = *all;
      latencies.message = *all;
      continue;
    }
    const std::string_view name = part.substr(0, equals);
    const auto found = std::ranges::find(kNamedLatencies, name, &NamedLatency::option);
    if (found == kNamedLatencies.end() && name != "message") {
      return Status(
          Code::invalid_argument,
          fmt::format("\"{}\" has no latency; expected NAME=MICROSECONDS with the names nvlink, xgmi, "
                      "c2c, pcie, cpu, nic, network, message, or one number for all",
                      name.substr(0, 60)));
    }
    const auto value = microseconds(name, part.substr(equals + 1));
    WEIR_TRY(value.status());
    latencies.*(found == kNamedLatencies.end() ? &Latencies::message : found->value) = *value;
  }
  return latencies;
}

double latency_of(const Graph& graph, const Link& link, const Latencies& assumed) {
  if (link.latency_us > 0) return link.latency_us;
  const auto ends_at = [&](NodeKind kind) {
    return graph[link.from].kind() == kind || graph[link.to].kind() == kind;
  };
  switch (link.kind) {
    case LinkKind::nvlink:
      return ends_at(NodeKind::nvswitch) || ends_at(NodeKind::fabric_switch) ? assumed.nvlink / 2
                                                                             : assumed.nvlink;
    case LinkKind::inner: return ends_at(NodeKind::port) ? assumed.nic : 0;
    case LinkKind::cable: return assumed.network + (ends_at(NodeKind::host) ? assumed.nic : 0);
    default: break;
  }
  const auto found = std::ranges::find(kNamedLatencies, link.kind, &NamedLatency::kind);
  return found == kNamedLatencies.end() ? 0 : assumed.*found->value;
}

std::string words_of(const Latencies& assumed, const std::array<bool, kLinkKinds>& kinds) {
  std::string text;
  double sum = assumed.message;
  for (const NamedLatency& choice : kNamedLatencies) {
    if (!kinds[static_cast<size_t>(choice.kind)]) continue;
    text += fmt::format("{} {:g}, ", choice.words, assumed.*choice.value);
    sum += assumed.*choice.value;
  }
  return sum == 0 ? "none" : fmt::format("{}message {:g} us", text, assumed.message);
}

}  // namespace weir::topology
