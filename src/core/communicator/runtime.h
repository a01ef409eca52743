// SPDX-License-Identifier: Apache-2.0
/// What all communicators of a process share: options, the listener, the registries, the roots of its unique
/// ids. One object, made by src/api on first use and never destroyed (an application's threads may outlive
/// static destructors).
///
/// Thread-safe.
/// Tests: tests/core/deadlines_test.cc, tests/core/process_report_test.cc
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "src/base/options.h"
#include "src/base/status.h"
#include "src/core/bootstrap/bootstrap_all_gather.h"
#include "src/core/bootstrap/root.h"
#include "src/core/call/unique_id.h"
#include "src/core/diagnosis/activity_registry.h"
#include "src/core/diagnosis/dumper.h"
#include "src/core/execution/window.h"
#include "src/core/gpu/block_budget.h"
#include "src/core/gpu/kernel_library.h"
#include "src/core/gpu/peer_access.h"
#include "src/core/placement/local_host.h"
#include "src/core/placement/pretended_cluster.h"
#include "src/device/gpu.h"
#include "src/device/gpus.h"
#include "src/device/host_memory.h"
#include "src/net/advertised.h"
#include "src/net/interfaces.h"
#include "src/net/listener/listener.h"
#include "src/net/tls/credentials.h"
#include "transports/credit_budget.h"
#include "transports/memory/segment.h"
#include "transports/transports.h"

namespace weir::core {

class Runtime {
 public:
  explicit Runtime(Options options);

  const Options& options() const { return options_; }
  Timeouts timeouts() const;
  uint64_t host() const { return host_; }
  LocalHost& local_host() { return local_host_; }
  /// The cluster that the job pretends to run on (WEIR_PRETEND), read on first use; null: none. Errors: those
  /// of PretendedCluster::read().
  Result<std::shared_ptr<const PretendedCluster>> pretended_cluster();
  device::MemoryRegistry& memory() { return memory_; }
  LocalSegments& local_segments() { return local_segments_; }
  CreditBudget& credit() { return credit_; }
  ActivityRegistry& activities() { return activities_; }
  const ActivityRegistry& activities() const { return activities_; }
  /// Writes reports of the process to files.
  Dumper& dumper() { return dumper_; }
  WindowRegistry& windows() { return windows_; }
  Roots& roots() { return roots_; }
  BootstrapAllGathers& all_gathers() { return all_gathers_; }
  /// The GPUs of the process, whether it uses them or not; null if set_gpus() was called with null.
  device::Gpus* gpus() const { return gpus_.load(std::memory_order_acquire); }
  /// Sets the GPUs for communicators made from now on; `gpus` outlives them.
  void set_gpus(device::Gpus* gpus) { gpus_.store(gpus, std::memory_order_release); }
  /// Loads the verbs library; null: the system's. REQUIRES for set_verbs: no communicator is being made.
  const VerbsLoader& verbs() const { return verbs_; }
  void set_verbs(VerbsLoader verbs) { verbs_ = std::move(verbs); }
  /// How the sockets of communicators made from now on are encrypted: as the program says, else as WEIR_TLS
  /// says. invalid_argument if its values are wrong.
  Result<TlsSettings> encryption() const;
  /// The credentials of a job with this secret, whose sockets are encrypted as encryption() says.
  Result<Credentials> credentials(const Secret& secret) const;
  /// What the program says; nullopt: nothing.
  void set_encryption(std::optional<TlsSettings> settings);
  KernelLibrary& kernels() { return kernels_; }
  BlockBudget& block_budget() { return block_budget_; }
  LingeringPeerAccess& lingering_peer_access() { return lingering_peer_access_; }
  /// A number that is unique among the processes of this host.
  uint64_t process() const { return process_; }

  /// An id for a new communicator: the fixed id of NCCL_COMM_ID, or the id of a root that is started now.
  Result<UniqueId> make_unique_id();
  /// The id of ranks that meet at an address, as at that of NCCL_COMM_ID; starts nothing.
  Result<UniqueId> fixed_id(const std::string& where) const;
  /// The same for ranks that are not those which meet at NCCL_COMM_ID, whatever their address: with another
  /// secret, which follows from that of the job.
  Result<UniqueId> id_at(const std::string& where) const;
  /// The id of a root that is started now, at an interface that can reach NCCL_COMM_ID if that is set.
  Result<UniqueId> new_id();
  /// Adds to a fixed id where its root is in this network namespace, if it may be here (WEIR_ADVERTISE).
  Status complete(UniqueId& id) const;
  /// The listener: opened on first use, at an interface that can reach `reach`, and closed with its last
  /// holder.
  Result<std::shared_ptr<Listener>> listener(const SocketAddress& reach);
  /// What opens the reports of the other processes of this one's jobs; empty while no listener is open. Not
  /// to be shown to anybody.
  std::vector<ReportAccess> report_access() const;

 private:
  /// Where this process listens, and at what ports; the interfaces beyond those advertised are not used.
  struct Place {
    InterfaceChoice choice;
    PortRange ports;
    Advertisement advertised;
  };
  Result<Place> listen_at(const std::optional<SocketAddress>& reach) const;

  const Options options_;
  const uint64_t host_;
  LocalHost local_host_;
  device::MemoryRegistry memory_;
  LocalSegments local_segments_;
  CreditBudget credit_;
  ActivityRegistry activities_;
  Dumper dumper_;
  WindowRegistry windows_;
  Roots roots_;
  BootstrapAllGathers all_gathers_;
  std::atomic<device::Gpus*> gpus_{&device::gpus()};
  VerbsLoader verbs_;
  KernelLibrary kernels_;
  BlockBudget block_budget_;  // before what holds shares of it
  LingeringPeerAccess lingering_peer_access_;
  const uint64_t process_;
  mutable std::mutex mutex_;
  std::weak_ptr<Listener> listener_;
  std::optional<TlsSettings> encryption_;
  std::optional<Result<std::shared_ptr<const PretendedCluster>>> pretended_cluster_;
};

}  // namespace weir::core
