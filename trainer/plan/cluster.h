// SPDX-License-Identifier: Apache-2.0
/// What the step-time model knows of a cluster: GPUs in equal nodes, and what joins them.
///
/// Thread safety: values.
#pragma once

#include <string>

namespace weir::trainer::plan {

/// Bytes per element.
struct Precision {
  double gather = 2;      ///< of parameters on the wire
  double reduce = 2;      ///< of gradients on the wire, and where they wait
  double activation = 2;  ///< of what forward leaves for backward
};

enum class Collective {
  ring,          ///< one ring over all ranks: ranks - 1 steps
  hierarchical,  ///< between nodes, then inside: nodes - 1 steps and the bytes once more inside
};

struct Cluster {
  std::string title;
  double nodes = 1;
  double gpus = 1;            ///< per node
  double memory = 0;          ///< bytes per GPU
  double reserve = 0;         ///< bytes per GPU that are not for the trainer
  double peak = 0;            ///< FLOP/s per GPU that MFU is a fraction of
  double compute = 0;         ///< FLOP/s per GPU that a wide model achieves
  double half_width = 0;      ///< width of the model at which half of that is achieved
  double inside = 0;          ///< bytes/s per GPU and direction in a node
  double nic = 0;             ///< bytes/s per node and direction
  double usable = 1;          ///< part of that which collectives get
  double latency = 0;         ///< seconds per step of a collective between nodes
  double inside_latency = 0;  ///< seconds per step in a node
  double contention = 0;      ///< part of the GPU that a running transfer takes from computing
  Collective collective = Collective::ring;
  Precision precision;

  /// FLOP/s that a model of this width achieves.
  double achieved(double width) const { return compute * width / (width + half_width); }
  double between() const { return nic * usable; }  ///< bytes/s per node
};

}  // namespace weir::trainer::plan
