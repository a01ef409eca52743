// SPDX-License-Identifier: Apache-2.0
/// Whether the ranks of a communicator can access each other's GPU memory, and the memory through which they
/// communicate. Each rank provides a segment (src/exec/gpu/queued.h) and maps those of all other ranks of its
/// host: by plain addresses in one process, across processes by IPC handles, or, if these are refused, by
/// files. Ranks of different hosts have rings in pinned memory, which a proxy serves.
///
/// Either all ranks have segments or none: if one cannot, all get the same message that names it and the
/// reason.
/// Tests: tests/core/device_processes_test.cc, tests/core/device_collectives_test.cc
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/base/options.h"
#include "src/core/bootstrap/bootstrap.h"
#include "src/core/gpu/block_budget.h"
#include "src/core/gpu/kernel_library.h"
#include "src/core/gpu/proxied_memory.h"
#include "src/core/staged/pinned.h"
#include "src/device/gpu_mappings.h"
#include "src/device/gpu_sharing.h"
#include "src/exec/gpu/flag_pages.h"
#include "src/exec/gpu/queued.h"
#include "src/net/file_post.h"

namespace weir::core {

class GpuPeerAccess {
 public:
  struct Dependencies {
    Bootstrap* bootstrap = nullptr;
    device::Gpus* gpus = nullptr;
    device::Gpu* gpu = nullptr;  ///< this rank's GPU; null: none
    KernelLibrary* kernels = nullptr;
    BlockBudget* budget = nullptr;
    uint32_t sharers = 1;                   ///< ranks of this host on this rank's GPU, itself included
    uint32_t sharers_here = 1;              ///< those of them in this process
    uint32_t hardware_queues = UINT32_MAX;  ///< of a GPU in this process
    bool alone = false;                     ///< all ranks are in this process, on this GPU
    uint32_t least_blocks = 1;
    uint32_t most_blocks = BlockBudget::kMost;  ///< limits of a rank's blocks; the same on all ranks
    uint64_t process = 0;                       ///< number that only the ranks of this process share
    std::string path;                           ///< WEIR_GPU_PATH
    size_t segment_bytes = 0;
    const Routes* routes = nullptr;  ///< routes to ranks of other hosts
    ProxiedMemory::Adapters adapters;
  };
  /// The result: the access, or why there is none.
  struct Outcome {
    std::unique_ptr<GpuPeerAccess> access;
    std::string why_not;
  };

  /// Sets up the access. Collective over the bootstrap. All memory is allocated, and after a failure freed,
  /// before any rank returns, so that no kernels wait meanwhile. Errors: those of the bootstrap.
  static Result<Outcome> join(const Dependencies& dependencies);
  /// Frees the memory. REQUIRES: everyone_left(), or no call ever ran.
  ~GpuPeerAccess();
  GpuPeerAccess(const GpuPeerAccess&) = delete;
  GpuPeerAccess& operator=(const GpuPeerAccess&) = delete;

  uint64_t uid() const { return uid_; }
  device::Gpu& gpu() const { return *gpu_; }
  /// The communicator's own stream; only its calls are queued there before leave().
  device::GpuStream stream() const { return stream_; }
  exec::gpu::Queued& executor() const { return *executor_; }
  size_t segment_bytes() const { return segments_.bytes; }
  /// Bytes allocated on this rank's GPU: the segment and what surrounds it.
  size_t memory_bytes() const { return memory_bytes_; }
  /// Most blocks of a call of this rank; the same on all ranks.
  uint32_t blocks() const { return share_.blocks(); }
  /// True if calls run as stream operations: no kernel waits for another rank.
  bool by_streams() const { return flags_ != nullptr; }

  /// Rings to ranks of other hosts, for a proxy; null: all ranks are on one host.
  exec::gpu::ProxyRings* proxied() const { return proxied_ != nullptr ? &proxied_->rings() : nullptr; }

  /// Deregisters the rings' memory from the transports, once no proxy serves them. REQUIRES: the transports
  /// live.
  void deregister();

  /// True if other ranks of this process are on the GPU.
  bool shares_gpu_here() const { return shares_gpu_here_; }
  /// Keeps memory that calls of this rank used, to be freed with the segment.
  void free_later(std::shared_ptr<void> memory) { used_ = std::move(memory); }

  /// True if each rank's kernels can address all ranks' buffers: all are in one process, on one GPU.
  bool addresses_buffers() const { return one_gpu_ && !by_streams(); }

  /// Notes that a call was captured: a graph may access the segments of all ranks at any time.
  void expect_graphs() { graphs_ = true; }
  /// True if any rank expects graphs. REQUIRES: everyone_left().
  bool expects_graphs() const { return graphs_; }

  /// Tells all other ranks that this one no longer uses their segments, except through graphs. REQUIRES:
  /// nothing is queued on stream(), or ever will be. Waits only briefly, as does everyone_left(); a process
  /// may call them for one access at a time. Gives the blocks back.
  void leave();
  /// True once all ranks have left.
  bool everyone_left();

 private:
  struct Offer;

  /// How other processes get a segment.
  enum class Means : uint8_t { handles, files };
  struct Attempt {
    Outcome outcome;
    bool may_use_files = false;  ///< memory could not be shared, and all ranks' drivers support files
  };

  GpuPeerAccess() = default;
  static Result<Attempt> attempt(const Dependencies& dependencies, Means means);
  static Offer offer_of(const Dependencies& dependencies, Means means, GpuPeerAccess& peer_access);
  Status take_segment(size_t bytes, Means means);
  Status share_segment(Means means, Offer& offer);
  struct Verdict {
    std::string why_not;    ///< why there can be no access; empty: there can
    bool streams = false;   ///< stream operations instead of kernels that wait
    bool unshared = false;  ///< the reason is that memory cannot be shared
  };
  static Verdict verdict(const std::vector<Offer>& offers, const std::vector<PeerAddress>& peers,
                         const std::string& path);
  void find_neighbours(const std::vector<PeerAddress>& peers);
  bool is_near(size_t rank) const;
  Status reach(const Dependencies& dependencies, const std::vector<Offer>& offers, bool streams);
  Result<std::byte*> reach_segment(const Dependencies& dependencies, const Offer& offer, const Socket* file);
  Status make_proxied(const Dependencies& dependencies);
  Status make_executor(const Dependencies& dependencies, const std::vector<Offer>& offers, bool streams);
  bool settle_exit();
  void let_go();

  uint64_t uid_ = 0;
  Rank rank_ = 0;
  device::Gpu* gpu_ = nullptr;
  device::GpuStream stream_ = nullptr;
  device::GpuStream exit_ = nullptr;  ///< stream on which fins are read and written
  std::byte* memory_ = nullptr;       ///< fins of all ranks, then the segment
  size_t memory_bytes_ = 0;
  exec::gpu::LoadedKernels kernels_;
  exec::gpu::GpuSegments segments_;
  std::vector<Rank> far_;                        ///< ranks of other hosts
  std::unique_ptr<ProxiedMemory> proxied_;       ///< null: there are no ranks of other hosts
  std::vector<std::byte*> fins_;                 ///< begin of each rank's memory; null: on another host
  std::vector<device::GpuMapping> attached_;     ///< mapped segments; those by handles have 0 bytes
  std::optional<FilePost> post_;                 ///< set if segments are shared by files
  Socket file_;                                  ///< file of the segment
  std::unique_ptr<exec::gpu::FlagPages> flags_;  ///< flags for stream operations; null: kernels are used
  std::unique_ptr<exec::gpu::Queued> executor_;
  BlockBudget::Share share_;
  bool one_gpu_ = true;
  bool graphs_ = false;
  bool shares_gpu_here_ = false;
  std::shared_ptr<void> used_;
  Pinned words_;  ///< a fin to send, a flag, fins that were read
  device::GpuFlag read_;
  uint32_t reads_ = 0;
};

/// Segments of communicators that ended here while other ranks may still use them. They are kept until these
/// ranks have left, too, or for ever if calls were captured: graphs that still use them end without results.
///
/// Freeing memory waits for the GPU. Where ranks of this process share a GPU, what runs there may wait for
/// the very rank that frees, so the memory of such a GPU is freed when no communicator uses it in this way.
///
/// Thread-safe.
class LingeringPeerAccess {
 public:
  /// Notes that a rank of this process has an access, which comes back with leave().
  void enter(const GpuPeerAccess& peer_access);
  /// Takes the access of a rank that has ended, and frees all accesses that can be freed. The last rank of a
  /// communicator in this process waits a while for ranks of other processes; what they still use is kept.
  /// `idle`: the rank's stream is idle; otherwise its access is kept to the end of the process.
  void leave(std::unique_ptr<GpuPeerAccess> peer_access, bool idle);

 private:
  void sweep();

  std::mutex mutex_;
  std::map<uint64_t, int> inside_;             ///< ranks of this process, by communicator
  std::map<const device::Gpu*, int> sharing_;  ///< those of them that share their GPU, by GPU
  std::vector<std::unique_ptr<GpuPeerAccess>> left_;
  std::vector<std::unique_ptr<GpuPeerAccess>> unused_;  ///< to be freed when no rank shares their GPUs
  std::vector<std::unique_ptr<GpuPeerAccess>> kept_;  ///< accesses that queued calls or graphs may still use
};

}  // namespace weir::core
