// SPDX-License-Identifier: Apache-2.0
/// Whether the ranks of a communicator can work on each other's GPU memory, and the memory through which they
/// do: each gives a segment (src/exec/gpu/queued.h) and reaches those of all others of its host, by plain
/// addresses in one process, across processes by IPC handles, or by files that are handed over where those
/// are refused. Between ranks of different hosts there are rings in pinned memory, for a proxy to serve.
///
/// All ranks have segments, or none has: where one cannot, all get the same sentence that says which and why.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/base/options.h"
#include "src/core/bootstrap/bootstrap.h"
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
    device::Gpu* gpu = nullptr;  ///< of this rank; null: none
    KernelLibrary* kernels = nullptr;
    uint64_t process = 0;  ///< the same for the ranks of this process alone
    std::string path;      ///< WEIR_GPU_PATH
    size_t segment_bytes = 0;
    const Routes* routes = nullptr;  ///< to ranks of other hosts
    ProxiedMemory::Adapters adapters;
  };
  /// What became of it: the access, or why there is none.
  struct Outcome {
    std::unique_ptr<GpuPeerAccess> access;
    std::string why_not;
  };

  /// Collective over the bootstrap. All memory is taken, and given back where it was in vain, before any rank
  /// returns: nobody's kernels wait meanwhile. Errors: those of the bootstrap.
  static Result<Outcome> join(const Dependencies& dependencies);
  /// Frees. REQUIRES: everyone_left(), or nobody ever ran.
  ~GpuPeerAccess();
  GpuPeerAccess(const GpuPeerAccess&) = delete;
  GpuPeerAccess& operator=(const GpuPeerAccess&) = delete;

  uint64_t uid() const { return uid_; }
  device::Gpu& gpu() const { return *gpu_; }
  /// The stream of the communicator's own calls; nothing else is queued there before leave().
  device::GpuStream stream() const { return stream_; }
  exec::gpu::Queued& executor() const { return *executor_; }
  size_t segment_bytes() const { return segments_.bytes; }
  /// Of this rank's GPU, with what is around the segment.
  size_t memory_bytes() const { return memory_bytes_; }
  uint32_t blocks() const { return blocks_; }
  /// Calls go as operations of streams: no kernel waits for another rank.
  bool by_streams() const { return flags_ != nullptr; }

  /// Rings to ranks of other hosts, for a proxy; null: all are on one.
  exec::gpu::ProxyRings* proxied() const { return proxied_ != nullptr ? &proxied_->rings() : nullptr; }

  /// Nobody serves those rings any more: transports forget memory that they were lent. REQUIRES: they live.
  void take_back();

  /// Kernels of all ranks address whatever their GPUs address: they are of one process, on one GPU.
  bool addresses_buffers() const { return one_gpu_ && !by_streams(); }

  /// A call was captured: a graph may come to the segments of all ranks at any time.
  void expect_graphs() { graphs_ = true; }
  /// Of any rank. REQUIRES: everyone_left().
  bool expects_graphs() const { return graphs_; }

  /// Tells all others that this rank uses nobody's segment any more, but for graphs. REQUIRES: nothing is
  /// queued on stream(), or ever will be. Waits for at most a moment, as does everyone_left(); one of all
  /// accesses of a process at a time.
  void leave();
  /// All ranks have said so.
  bool everyone_left();

 private:
  struct Offer;

  /// How segments come into other processes.
  enum class Means : uint8_t { handles, files };
  struct Attempt {
    Outcome outcome;
    bool may_use_files = false;  ///< memory could not be shared, and all ranks' drivers know files
  };

  GpuPeerAccess() = default;
  static Result<Attempt> attempt(const Dependencies& dependencies, Means means);
  static Offer offer_of(const Dependencies& dependencies, Means means, GpuPeerAccess& peer_access);
  Status take_segment(size_t bytes, Means means);
  Status share_segment(Means means, Offer& offer);
  struct Verdict {
    std::string why_not;    ///< there can be no peer_access; empty: there can
    bool streams = false;   ///< by operations of streams, not by kernels that wait
    bool unshared = false;  ///< as memory cannot be shared
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
  device::GpuStream exit_ = nullptr;  ///< for looks at who has left
  std::byte* memory_ = nullptr;       ///< who has left, by rank, then the segment
  size_t memory_bytes_ = 0;
  exec::gpu::LoadedKernels kernels_;
  exec::gpu::GpuSegments segments_;
  std::vector<Rank> far_;                        ///< ranks of other hosts
  std::unique_ptr<ProxiedMemory> proxied_;       ///< null: there are none
  std::vector<std::byte*> fins_;                 ///< by rank: where its memory begins; null: on another host
  std::vector<device::GpuMapping> attached_;     ///< of no bytes: by handles
  std::optional<FilePost> post_;                 ///< segments go by files
  Socket file_;                                  ///< that of the segment
  std::unique_ptr<exec::gpu::FlagPages> flags_;  ///< of the way by streams
  std::unique_ptr<exec::gpu::Queued> executor_;
  uint32_t blocks_ = 0;
  bool one_gpu_ = true;
  bool graphs_ = false;
  Pinned words_;  ///< a fin to send, a flag, fins that were read
  device::GpuFlag read_;
  uint32_t reads_ = 0;
};

/// Segments of communicators that ended here while other ranks may still use them, until these have left too;
/// those of which calls were captured, for good: graphs that still come to them end without results.
///
/// Thread-safe.
class LingeringPeerAccess {
 public:
  /// A rank of the communicator `uid` has its access in this process.
  void enter(uint64_t uid);
  /// Takes the access of a rank that is done, and frees what can be. Where no other rank of this process is
  /// in it any more, waits a while for those of other processes; what they still use then is kept. `idle`:
  /// the rank's stream is; else it is kept to the end of the process.
  void leave(std::unique_ptr<GpuPeerAccess> peer_access, bool idle);

 private:
  void sweep();

  std::mutex mutex_;
  std::map<uint64_t, int> inside_;
  std::vector<std::unique_ptr<GpuPeerAccess>> left_;
  std::vector<std::unique_ptr<GpuPeerAccess>> kept_;  ///< streams may come to them at any time
};

}  // namespace weir::core
