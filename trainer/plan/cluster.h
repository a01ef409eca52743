// SPDX-License-Identifier: Apache-2.0
/// A cluster in the step-time model: GPUs in equal nodes, and the links between them.
///
/// Thread safety: values.
#pragma once

#include <string>

namespace weir::trainer::plan {

/// Bytes per element.
struct Precision {
  double gather = 2;      ///< bytes of parameters on the wire
  double reduce = 2;      ///< bytes of gradients on the wire, and while they wait
  double activation = 2;  ///< bytes of activations that forward saves for backward
};

enum class Collective {
  ring,          ///< one ring over all ranks: ranks - 1 steps
  hierarchical,  ///< first between nodes, then inside: nodes - 1 steps, and the bytes a second time inside
};

struct Cluster {
  std::string title;
  double nodes = 1;
  double gpus = 1;            ///< number of GPUs per node
  double memory = 0;          ///< bytes per GPU
  double reserve = 0;         ///< bytes per GPU that the trainer cannot use
  double peak = 0;            ///< FLOP/s per GPU; MFU is relative to it
  double compute = 0;         ///< FLOP/s per GPU that a wide model achieves
  double half_width = 0;      ///< model width at which half of `compute` is achieved
  double inside = 0;          ///< bytes/s per GPU and direction inside a node
  double nic = 0;             ///< bytes/s per node and direction
  double usable = 1;          ///< fraction of `nic` that collectives achieve
  double latency = 0;         ///< seconds per step of a collective between nodes
  double inside_latency = 0;  ///< seconds per step inside a node
  double contention = 0;      ///< fraction of computing speed lost while a transfer runs
  Collective collective = Collective::ring;
  Precision precision;

  /// FLOP/s that a model of this width achieves.
  double achieved(double width) const { return compute * width / (width + half_width); }
  double between() const { return nic * usable; }  ///< bytes/s per node
};

}  // namespace weir::trainer::plan
