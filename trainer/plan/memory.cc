// SPDX-License-Identifier: Apache-2.0

#include "trainer/plan/memory.h"

#include <fmt/format.h>

#include <algorithm>

namespace weir::trainer::plan {
namespace {

/// Master parameters and two moments, all fp32.
constexpr double kStateBytes = 12;
// Bytes per token and width, for two bytes per element: a block with one attention core, each further core, a
// unit's input.
constexpr double kBlockBytes = 34;
constexpr double kCoreBytes = 11;
constexpr double kInputBytes = 2;
constexpr double kScoreBytes = 5;
/// Bytes per token and symbol: logits and their gradients.
constexpr double kLogitBytes = 6;

/// Bytes of one sequence, for two bytes per element.
struct UnitBytes {
  double plain = 0;
  double scores = 0;
};

UnitBytes of(const Model& model, const Unit& unit) {
  if (unit.attentions == 0) return {};
  UnitBytes bytes;
  bytes.plain = model.sequence * model.width * (kBlockBytes + kCoreBytes * (unit.attentions - 1));
  if (!model.flash)
    bytes.scores = kScoreBytes * model.heads * model.sequence * model.sequence * unit.attentions;
  return bytes;
}

}  // namespace

std::string_view name(Recompute recompute) {
  switch (recompute) {
    case Recompute::none: return "none";
    case Recompute::selective: return "selective";
    case Recompute::full: return "full";
  }
  return "";
}

double state_bytes(const Model& model, const Cluster& cluster, const Groups& groups) {
  const double each = kStateBytes + cluster.precision.reduce + cluster.precision.gather;
  const double secondary = groups.secondary > 0 ? cluster.precision.gather / groups.secondary : 0;
  return (each / groups.shard + secondary) * model.parameters();
}

ActivationBytes activation_bytes(const Model& model, const Cluster& cluster, Recompute recompute,
                                 double sequences) {
  double kept = 0;
  double working = 0;
  for (const Unit& unit : model.units) {
    const UnitBytes bytes = of(model, unit);
    switch (recompute) {
      case Recompute::none: kept += bytes.plain + bytes.scores; break;
      case Recompute::selective:
        kept += bytes.plain;
        working = std::max(working, bytes.scores);
        break;
      case Recompute::full:
        kept += kInputBytes * model.sequence * model.width;
        working = std::max(working, bytes.plain + bytes.scores);
        break;
    }
  }
  const double logits = kLogitBytes * model.sequence * model.vocabulary;
  const double scale = sequences * cluster.precision.activation / 2;
  return {scale * kept, scale * std::max(working, logits)};
}

Status check_memory(const Cluster& cluster, const Memory& memory) {
  const double room = cluster.memory - cluster.reserve;
  if (memory.total() <= room) return {};
  constexpr double giga = 1e9;
  return {Code::invalid_argument,
          fmt::format("needs {:.1f} GB per GPU (states {:.1f}, in flight {:.1f}, activations {:.1f}); "
                      "expected at most {:.1f} GB",
                      memory.total() / giga, memory.states / giga, memory.in_flight / giga,
                      memory.activations / giga, room / giga)};
}

}  // namespace weir::trainer::plan
