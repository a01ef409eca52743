// SPDX-License-Identifier: Apache-2.0
/// The cluster that a job pretends to run on (WEIR_PRETEND), and which of its devices each rank stands for.
///
/// A value that does not change once it is read: thread-safe.
/// Tests: tests/core/pretended_cluster_test.cc
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/core/placement/job_topology.h"
#include "topology/model/graph.h"

namespace weir::core {

class PretendedCluster {
 public:
  /// Reads what WEIR_PRETEND may be: a topology file, or a machine in one line (topology::read_files()), and
  /// "@N" behind it, the scale. Links without a rate get the assumed one, as for `weir sim`. Errors begin
  /// with the name of the option: those of the reader, and invalid_argument for a scale that is no number of
  /// at least 0, and for a file with neither GPUs nor hosts.
  static Result<PretendedCluster> read(const std::string& text);

  const topology::Graph& graph() const { return graph_; }
  /// The devices for ranks: all GPUs, or all hosts if there are no GPUs, in the order of the file.
  const std::vector<topology::Index>& devices() const { return devices_; }
  bool has_gpus() const { return graph_.get<topology::GpuFacts>(devices_.front()) != nullptr; }
  /// The file, or the line.
  const std::string& source() const { return source_; }
  /// By which times are multiplied; 0: calls take as long as they need.
  double scale() const { return scale_; }
  /// What was assumed about the rates of links; empty: nothing.
  const std::string& assumed() const { return assumed_; }
  /// A number that is equal for equal clusters.
  uint64_t digest() const { return digest_; }

  /// The number of the device of each rank, from the numbers that the ranks have told (told_place()). If one
  /// has none, or if two have the same, each rank stands for the device with its own number. invalid_usage if
  /// there are fewer devices than ranks, or none with a told number.
  Result<std::vector<int>> places(std::span<const int> told) const;
  /// The hosts of ranks at these devices, and the switches of their network.
  JobTopology topology_of(std::span<const int> places) const;
  /// "GPU 3 of node0"; "host node1".
  std::string describe(int place) const;

 private:
  std::string source_;
  double scale_ = 1;
  topology::Graph graph_;
  std::vector<topology::Index> devices_;
  std::string assumed_;
  uint64_t digest_ = 0;
};

/// The number of this process among those that a launcher has started, if a communicator of `ranks` ranks has
/// at most one rank in each of them; else -1.
int told_place(int ranks);

}  // namespace weir::core
