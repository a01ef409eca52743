// SPDX-License-Identifier: Apache-2.0
/// The topology of this process's host, and of the network as the host sees it. Detected once per process, on
/// first use, and shared by all communicators.
///
/// Thread-safe; callers wait while another thread detects.
/// Tests: tests/library/topology_test.cc
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "src/base/options.h"
#include "src/base/status.h"
#include "topology/model/graph.h"

namespace weir::core {

class LocalHost {
 public:
  /// `options` must outlive it. `identity` is host_identity().
  LocalHost(const Options& options, uint64_t identity) : options_(options), identity_(identity) {}

  /// The host, which is node 0, and its cables: from NCCL_TOPO_FILE (or the file that hypervisors provide for
  /// NCCL), or else detected; named name(). Errors: those of the file; a missing file is only a warning, as
  /// in NCCL. Valid as long as this object.
  Result<const topology::Graph*> host();

  /// The host's name in messages: NCCL_HOSTID, or the host name up to its first dot.
  std::string name() const;

  /// The names of the ports that have no link now (topology::ports_without_link).
  std::vector<std::string> ports_without_link() const;

  /// A short description of host(), or its error.
  std::string describe();

  /// The network: from WEIR_FABRIC_FILE, or else from the InfiniBand subnet manager, if it may be queried;
  /// else empty. Errors: those of the file. Valid as long as this object.
  Result<const topology::Graph*> network();

 private:
  using Found = std::optional<Result<topology::Graph>>;

  Result<std::optional<topology::Graph>> from_file() const;
  Result<topology::Graph> look() const;
  Result<topology::Graph> look_at_network() const;

  const Options& options_;
  const uint64_t identity_;
  std::mutex mutex_;
  Found host_;
  Found network_;
};

}  // namespace weir::core
