// SPDX-License-Identifier: Apache-2.0
/// A cluster in the step-time model: the links of the library's topology, and what only a trainer needs to
/// know of its devices.
///
/// Thread safety: values that share their links (links.h).
#pragma once

#include <memory>
#include <string>

#include "trainer/plan/contention.h"
#include "trainer/plan/links.h"

namespace weir::trainer::plan {

/// Bytes per element.
struct Precision {
  double gather = 2;      ///< bytes of parameters on the wire
  double reduce = 2;      ///< bytes of gradients on the wire, and while they wait
  double activation = 2;  ///< bytes of activations that forward saves for backward
};

struct Cluster {
  std::string title;
  std::shared_ptr<Links> links;
  int nodes = 1;           ///< number of nodes that take part, the first ones of the topology
  int gpus = 1;            ///< number of ranks per node; that of the topology
  double memory = 0;       ///< bytes per GPU
  double reserve = 0;      ///< bytes per GPU that the trainer cannot use
  double peak = 0;         ///< FLOP/s per GPU; MFU is relative to it
  double compute = 0;      ///< FLOP/s per GPU that a wide model achieves
  double half_width = 0;   ///< model width at which half of `compute` is achieved
  double half_rows = 0;    ///< rows of a product (tokens of a micro-batch) with which half of it is achieved
  double memory_rate = 0;  ///< bytes/s that the loss and the look-up of tokens read and write; 0: they take
                           ///< no time
  /// Factor by which a rank computes faster while the other ranks of its host wait: more than 1 where ranks
  /// share cores.
  double alone = 1;
  Contention contention;
  double update = 0;  ///< seconds in which the optimizer updates one parameter
  Precision precision;

  int ranks() const { return nodes * gpus; }
  /// FLOP/s that a model of this width achieves with micro-batches of `rows` tokens. Each micro-batch takes
  /// as long as `half_rows` more tokens would: what starting a product, and reading its weights, takes for
  /// any number of rows.
  double achieved(double width, double rows) const {
    return compute * width / (width + half_width) * part_of_speed(rows);
  }
  /// The part of the speed with many rows that is left with `rows` rows.
  double part_of_speed(double rows) const { return rows / (rows + half_rows); }
  /// Seconds of a collective in all groups at once. REQUIRES and errors: as Links::seconds().
  Result<double> seconds(Collective collective, const RankGroups& groups, double bytes) const {
    return links->seconds(collective, nodes, groups, bytes);
  }
};

}  // namespace weir::trainer::plan
