// SPDX-License-Identifier: Apache-2.0
/// What this process's host is made of, and what it knows of the network. Looked for once per process, when
/// first asked: communicators come and go, hosts stay.
///
/// Thread-safe; who asks while another looks, waits.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "src/base/options.h"
#include "topology/model/graph.h"
#include "weir/status.h"

namespace weir::core {

class LocalHost {
 public:
  /// `options` must outlive it. `identity` is host_identity().
  LocalHost(const Options& options, uint64_t identity) : options_(options), identity_(identity) {}

  /// The host, which is node 0, and its cables: from NCCL_TOPO_FILE (or the file that hypervisors leave for
  /// NCCL), else detected; with name(). Errors: what is wrong with the file.
  /// A file that is not there is only warned of, as by NCCL. Valid as long as this object.
  Result<const topology::Graph*> host();

  /// What people call this host: NCCL_HOSTID, or the host name up to its first dot.
  std::string name() const;

  /// host() in a few words, or why there is none.
  std::string describe();

  /// The network: from WEIR_FABRIC_FILE, else what the InfiniBand subnet tells those who may ask; else empty.
  /// Errors: what is wrong with the file. Valid as long as this object.
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
