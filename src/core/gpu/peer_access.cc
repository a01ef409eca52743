// SPDX-License-Identifier: Apache-2.0

#include "src/core/gpu/peer_access.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "src/base/clock.h"
#include "src/base/host.h"
#include "src/base/log.h"
#include "src/base/printable.h"
#include "src/base/text.h"
#include "src/core/call/poll_until.h"
#include "src/exec/gpu/stream_executor.h"

namespace weir::core {
namespace {

using device::GpuMemory;
using exec::gpu::KernelExecutor;
using exec::gpu::StreamExecutor;

/// How long a rank that ends waits for others to end, too; also the time limit of one check.
constexpr int64_t kEndWaitNs = 2'000'000'000;
constexpr int64_t kLookNs = 100'000'000;
/// Time limit for passing the files of segments.
constexpr int64_t kHandOverNs = 10'000'000'000;

/// Fins: a rank has ended completely, or except for graphs that may still run.
constexpr uint64_t kLeft = 1;
constexpr uint64_t kLeftGraphs = 2;

/// With more ranks on several hosts, checking the plans takes too long.
constexpr size_t kMostWithProxies = 128;

constexpr size_t kSegmentAlignment = 4096;
constexpr size_t head_bytes(int ranks) {
  return (static_cast<size_t>(ranks) * sizeof(uint64_t) + kSegmentAlignment - 1) / kSegmentAlignment *
         kSegmentAlignment;
}

}  // namespace

/// What a rank tells all others about its segment.
struct GpuPeerAccess::Offer {
  std::string why_not;  ///< empty: it has a segment
  uint64_t machine = 0;
  uint64_t process = 0;
  std::string code;
  std::string gpu;  ///< PCI address of the GPU, or else its description
  int32_t index = 0;
  uint64_t memory = 0;
  uint64_t segment_bytes = 0;
  device::GpuShareHandle handle;
  std::string why_not_shared;  ///< why other processes cannot map it; empty: by `handle` or `post`
  bool maps = false;           ///< its driver supports files
  std::string post;            ///< address to send files to; empty: no files
  uint32_t blocks = 0;         ///< blocks that it may use; 0: its GPU has none left
  std::string why_no_flags;    ///< why stream operations cannot be used; empty: they can
  uint64_t flags = 0;
  device::ShareHandle flag_pages;

  Bytes bytes() const {
    ByteWriter out;
    out.put_string(why_not).put(machine).put(process).put_string(code).put_string(gpu).put(index);
    out.put(memory).put(segment_bytes).put(handle).put_string(why_not_shared).put(blocks);
    out.put_string(why_no_flags).put(flags).put(flag_pages).put(maps).put_string(post);
    return out.take();
  }
  static Offer from(BytesView bytes) {
    ByteReader in(bytes);
    Offer offer;
    offer.why_not = printable(in.get_string());
    offer.machine = in.get<uint64_t>();
    offer.process = in.get<uint64_t>();
    offer.code = in.get_string();
    offer.gpu = printable(in.get_string());
    offer.index = in.get<int32_t>();
    offer.memory = in.get<uint64_t>();
    offer.segment_bytes = in.get<uint64_t>();
    offer.handle = in.get<device::GpuShareHandle>();
    offer.why_not_shared = printable(in.get_string());
    offer.blocks = in.get<uint32_t>();
    offer.why_no_flags = printable(in.get_string());
    offer.flags = in.get<uint64_t>();
    offer.flag_pages = in.get<device::ShareHandle>();
    offer.maps = in.get<bool>();
    offer.post = in.get_string();
    if (!in.ok()) offer.why_not = "its offer is malformed";
    return offer;
  }
  bool shares_gpu(const Offer& other) const { return machine == other.machine && gpu == other.gpu; }
};

GpuPeerAccess::~GpuPeerAccess() { let_go(); }

/// Allocates zeroed GPU memory for the segment, and makes the streams.
Status GpuPeerAccess::take_segment(size_t bytes, Means means) {
  const int ranks = static_cast<int>(segments_.at.size());
  bytes = std::max(bytes,
                   exec::gpu::GpuSegmentTable::least_bytes(exec::gpu::GpuSegmentTable::Ranks::of(segments_)));
  if (means == Means::files) {
    auto made = gpu_->mappings()->make(head_bytes(ranks) + bytes, file_);
    WEIR_TRY(made.status());
    memory_ = static_cast<std::byte*>(made->memory);
    memory_bytes_ = made->bytes;
  } else {
    auto memory = gpu_->allocate(head_bytes(ranks) + bytes, GpuMemory::coherent);
    WEIR_TRY(memory.status());
    memory_ = static_cast<std::byte*>(*memory);
    memory_bytes_ = head_bytes(ranks) + bytes;
  }
  auto words = Pinned::allocate(gpu_, kSegmentAlignment + head_bytes(ranks));
  WEIR_TRY(words.status());
  words_ = std::move(*words);
  for (device::GpuStream* stream : {&stream_, &exit_}) {
    auto made = gpu_->make_stream();
    WEIR_TRY(made.status());
    *stream = *made;
  }
  auto read = gpu_->flag_at(words_.data() + sizeof(uint64_t));
  WEIR_TRY(read.status());
  read_ = *read;
  auto zeroes = Pinned::allocate(gpu_, size_t{256} << 10);
  WEIR_TRY(zeroes.status());
  for (size_t at = 0; at < memory_bytes_; at += zeroes->bytes())
    WEIR_TRY(
        gpu_->copy(memory_ + at, zeroes->data(), std::min(zeroes->bytes(), memory_bytes_ - at), stream_));
  return gpu_->synchronize(stream_);
}

/// Makes the segment available to other processes.
Status GpuPeerAccess::share_segment(Means means, Offer& offer) {
  if (means == Means::files) {
    auto post = FilePost::open(uid_, rank_);
    WEIR_TRY(post.status());
    post_ = std::move(*post);
    offer.post = post_->address();
    return {};
  }
  auto handle = gpu_->sharing()->share(memory_);
  WEIR_TRY(handle.status());
  offer.handle = *handle;
  return {};
}

GpuPeerAccess::Offer GpuPeerAccess::offer_of(const Dependencies& dependencies, Means means,
                                             GpuPeerAccess& peer_access) {
  Offer offer;
  offer.machine = kernel_identity();
  offer.process = dependencies.process;
  const auto refuse = [&](std::string words) {
    offer.why_not = std::move(words);
    return offer;
  };
  if (dependencies.gpu == nullptr) return refuse("its process has chosen no GPU");
  offer.gpu =
      dependencies.gpu->address().empty() ? dependencies.gpu->description() : dependencies.gpu->address();
  offer.index = dependencies.gpu->index();
  if (dependencies.path == "staged") return refuse("WEIR_GPU_PATH is staged");
  // A kernel, or a wait of a stream, lets nothing begin that is behind it in its hardware queue.
  if (dependencies.hardware_queues < dependencies.sharers_here)
    return refuse(fmt::format(
        "its process has {} ranks on {}, which need a hardware queue each, and set their number to "
        "{} (CUDA_DEVICE_MAX_CONNECTIONS, GPU_MAX_HW_QUEUES)",
        dependencies.sharers_here, offer.gpu, dependencies.hardware_queues));
  device::GpuKernels* const driver = dependencies.gpu->kernels();
  if (driver == nullptr || dependencies.gpu->sharing() == nullptr || dependencies.gpu->events() == nullptr)
    return refuse(fmt::format("{} cannot run kernels", dependencies.gpu->description()));
  auto kernels = dependencies.kernels->on(*dependencies.gpu);
  if (!kernels.ok()) return refuse(kernels.status().message());
  peer_access.kernels_ = *kernels;
  offer.code = driver->code();
  const auto fitting = driver->resident_blocks(kernels->bandwidth, kernels->most_threads, 0);
  const auto processors = driver->multiprocessors();
  if (!fitting.ok() || !processors.ok())
    return refuse(fitting.ok() ? processors.status().message() : fitting.status().message());
  peer_access.share_ = dependencies.budget->take(
      {peer_access.uid_, offer.index, static_cast<uint32_t>(std::max(0, *fitting * *processors)),
       dependencies.sharers, dependencies.alone, dependencies.least_blocks, dependencies.most_blocks});
  offer.blocks = peer_access.share_.blocks();
  if (const Status taken = peer_access.take_segment(dependencies.segment_bytes, means); !taken.ok())
    return refuse(taken.message());
  offer.memory = reinterpret_cast<uint64_t>(peer_access.memory_);
  offer.segment_bytes =
      peer_access.memory_bytes_ - head_bytes(static_cast<int>(peer_access.segments_.at.size()));
  offer.maps = dependencies.gpu->mappings() != nullptr;
  offer.why_not_shared = peer_access.share_segment(means, offer).message();
  const auto ranks = static_cast<int>(peer_access.segments_.at.size());
  if (auto flags = exec::gpu::FlagPages::create(*dependencies.gpu, peer_access.rank_, ranks); flags.ok()) {
    peer_access.flags_ = std::move(*flags);
    offer.flags = reinterpret_cast<uint64_t>(peer_access.flags_.get());
    offer.flag_pages = peer_access.flags_->handle();
  } else {
    offer.why_no_flags = flags.status().message();
  }
  return offer;
}

/// Decides, the same on all ranks. Kernels of two processes on one GPU would be time-sliced and very slow, so
/// such processes use stream operations.
GpuPeerAccess::Verdict GpuPeerAccess::verdict(const std::vector<Offer>& offers,
                                              const std::vector<PeerAddress>& peers,
                                              const std::string& path) {
  const Offer& first = offers.front();
  bool streams = path == "stream";
  bool several_hosts = false;
  for (size_t rank = 0; rank < offers.size(); ++rank) {
    const Offer& one = offers[rank];
    if (!one.why_not.empty()) return {fmt::format("rank {}: {}", rank, one.why_not)};
    if (one.code != first.code)
      return {fmt::format("rank {} uses a GPU of {}, but rank 0 a GPU of {}", rank, one.code, first.code)};
    for (size_t other = 0; other < rank; ++other) {
      if (one.process == offers[other].process) continue;
      streams = streams || (path != "kernel" && one.shares_gpu(offers[other]));
      if (peers[rank].host != peers[other].host) {
        several_hosts = true;
        continue;
      }
      if (one.machine != offers[other].machine)
        return {fmt::format("rank {} has the host id of rank {}, but is on another host", rank, other)};
      if (!one.why_not_shared.empty())
        return {fmt::format("rank {}: {}", rank, one.why_not_shared), false, true};
    }
  }
  if (several_hosts && streams)
    return {"stream operations, which processes that share a GPU need, do not reach other hosts"};
  if (several_hosts && offers.size() > kMostWithProxies)
    return {fmt::format("{} ranks are on several hosts; kernels support at most {}", offers.size(),
                        kMostWithProxies)};
  for (size_t rank = 0; rank < offers.size(); ++rank) {
    if (streams && !offers[rank].why_no_flags.empty())
      return {fmt::format("rank {}: {}", rank, offers[rank].why_no_flags)};
    if (!streams && offers[rank].blocks == 0)
      return {
          fmt::format("rank {}: kernels of other communicators have all blocks that its GPU runs at once; "
                      "maxCTAs in ncclConfig_t limits what each of them takes",
                      rank)};
  }
  return {"", streams};
}

/// Finds the ranks of this host and of other hosts.
void GpuPeerAccess::find_neighbours(const std::vector<PeerAddress>& peers) {
  std::map<uint64_t, uint32_t> on_host;
  std::vector<uint32_t> local_ranks;
  for (size_t rank = 0; rank < peers.size(); ++rank) {
    local_ranks.push_back(on_host[peers[rank].host]++);
    if (peers[rank].host != peers[static_cast<size_t>(rank_)].host) far_.push_back(static_cast<Rank>(rank));
  }
  if (on_host.size() > 1) segments_.local_ranks = std::move(local_ranks);
}

bool GpuPeerAccess::is_near(size_t rank) const {
  return std::find(far_.begin(), far_.end(), static_cast<Rank>(rank)) == far_.end();
}

/// Maps the memory of another rank of the host, or of this rank: its fins and its segment. `file`: the
/// segment's file; null: there is none.
Result<std::byte*> GpuPeerAccess::reach_segment(const Dependencies& dependencies, const Offer& offer,
                                                const Socket* file) {
  const bool here = offer.process == dependencies.process;
  if (here && offer.index == gpu_->index()) return reinterpret_cast<std::byte*>(offer.memory);
  if (file != nullptr) {
    auto mapped =
        gpu_->mappings()->map(*file, offer.segment_bytes + head_bytes(static_cast<int>(segments_.at.size())));
    WEIR_TRY(mapped.status());
    attached_.push_back(*mapped);
  } else if (!here) {
    auto attached = gpu_->sharing()->attach(offer.handle);
    WEIR_TRY(attached.status());
    attached_.push_back({*attached, 0});
  } else {
    auto other = dependencies.gpus->at(offer.index);
    WEIR_TRY(other.status());
    WEIR_TRY(gpu_->sharing()->reach(**other));
    return reinterpret_cast<std::byte*>(offer.memory);
  }
  return static_cast<std::byte*>(attached_.back().memory);
}

/// Maps all segments, and agrees on how many blocks a launch may have.
Status GpuPeerAccess::reach(const Dependencies& dependencies, const std::vector<Offer>& offers,
                            bool streams) {
  const size_t head = head_bytes(static_cast<int>(offers.size()));
  std::vector<Socket> files;
  if (post_) {
    std::vector<std::string> posts;
    for (size_t rank = 0; rank < offers.size(); ++rank)
      posts.push_back(is_near(rank) ? offers[rank].post : "");
    auto handed = post_->exchange(posts, file_, kHandOverNs);
    WEIR_TRY(handed.status());
    files = std::move(*handed);
  }
  segments_.bytes = offers.front().segment_bytes;
  uint32_t blocks = offers.front().blocks;
  for (size_t rank = 0; rank < offers.size(); ++rank) {
    const Offer& offer = offers[rank];
    one_gpu_ = one_gpu_ && offer.process == dependencies.process && offer.index == gpu_->index();
    segments_.bytes = std::min<size_t>(segments_.bytes, offer.segment_bytes);
    blocks = std::min(blocks, offer.blocks);
    if (!is_near(rank)) continue;
    auto memory = reach_segment(dependencies, offer, files.empty() ? nullptr : &files[rank]);
    WEIR_TRY(memory.status());
    fins_[rank] = *memory;
    segments_.at[rank] = *memory + head;
  }
  if (streams)
    share_.give_back();  // its kernels wait for nobody
  else
    share_.keep(blocks);
  if (!far_.empty()) WEIR_TRY(make_proxied(dependencies));
  return make_executor(dependencies, offers, streams);
}

/// Makes the rings to other hosts, with messages as large as those inside a host.
Status GpuPeerAccess::make_proxied(const Dependencies& dependencies) {
  using exec::gpu::GpuSegmentTable;
  const GpuSegmentTable table(GpuSegmentTable::Ranks::of(segments_), segments_.bytes);
  const size_t slot_bytes = table.message_bytes(GpuSegmentTable::Kind::bandwidth);
  auto made =
      ProxiedMemory::make({rank_, gpu_, far_, slot_bytes, dependencies.routes, dependencies.adapters});
  WEIR_TRY(made.status());
  proxied_ = std::move(*made);
  return {};
}

void GpuPeerAccess::deregister() {
  if (proxied_ != nullptr) proxied_->deregister();
}

/// Makes the executor. Ranks of one process on one GPU have a stream each, and so need a hardware queue each
/// (stream_executor.h).
Status GpuPeerAccess::make_executor(const Dependencies& dependencies, const std::vector<Offer>& offers,
                                    bool streams) {
  if (!streams) {
    flags_.reset();
    auto executor = KernelExecutor::create(*gpu_, kernels_, segments_, {blocks()}, proxied());
    WEIR_TRY(executor.status());
    executor_ = std::move(*executor);
    return {};
  }
  StreamExecutor::Dependencies own{gpu_, kernels_.transfer, flags_.get(), segments_};
  std::vector<device::ShareHandle> handles;
  for (size_t rank = 0; rank < offers.size(); ++rank) {
    const Offer& offer = offers[rank];
    handles.push_back(offer.flag_pages);
    if (offer.process != dependencies.process || rank == static_cast<size_t>(rank_)) continue;
    flags_->share(*reinterpret_cast<const exec::gpu::FlagPages*>(offer.flags));
    if (offer.index == gpu_->index()) own.streams = 1;
  }
  WEIR_TRY(flags_->attach(handles));
  auto executor = StreamExecutor::create(std::move(own));
  WEIR_TRY(executor.status());
  executor_ = std::move(*executor);
  return {};
}

Result<GpuPeerAccess::Outcome> GpuPeerAccess::join(const Dependencies& dependencies) {
  auto first = attempt(dependencies, Means::handles);
  WEIR_TRY(first.status());
  if (!first->may_use_files) return std::move(first->outcome);
  auto second = attempt(dependencies, Means::files);
  WEIR_TRY(second.status());
  if (second->outcome.access == nullptr)
    second->outcome.why_not =
        fmt::format("{}; sharing by files failed, too: {}", first->outcome.why_not, second->outcome.why_not);
  return std::move(second->outcome);
}

Result<GpuPeerAccess::Attempt> GpuPeerAccess::attempt(const Dependencies& dependencies, Means means) {
  Bootstrap& bootstrap = *dependencies.bootstrap;
  const auto ranks = static_cast<size_t>(bootstrap.size());
  std::unique_ptr<GpuPeerAccess> peer_access(new GpuPeerAccess);
  peer_access->uid_ = bootstrap.uid();
  peer_access->rank_ = peer_access->segments_.rank = bootstrap.rank();
  peer_access->gpu_ = dependencies.gpu;
  peer_access->shares_gpu_here_ = dependencies.sharers_here > 1;
  peer_access->segments_.at.resize(ranks);
  peer_access->fins_.resize(ranks);
  peer_access->find_neighbours(bootstrap.peers());
  ByteWriter told;  // rank 0's path applies to all ranks
  told.put_bytes(offer_of(dependencies, means, *peer_access).bytes()).put_string(dependencies.path);
  auto all = bootstrap.all_gather(told.take());
  WEIR_TRY(all.status());
  std::vector<Offer> offers;
  std::string path;
  for (const Bytes& bytes : *all) {
    ByteReader in(bytes);
    offers.push_back(Offer::from(in.get_bytes()));
    if (offers.size() == 1) path = in.get_string();
  }
  const Verdict found = verdict(offers, bootstrap.peers(), path);
  Attempt made;
  std::string& why_not = made.outcome.why_not = found.why_not;
  bool unshared = found.unshared;
  if (why_not.empty()) {
    const Status reached = peer_access->reach(dependencies, offers, found.streams);
    auto results = bootstrap.all_gather(ByteWriter().put_string(reached.message()).take());
    WEIR_TRY(results.status());
    for (size_t rank = 0; rank < ranks && why_not.empty(); ++rank) {
      const std::string words = printable(ByteReader((*results)[rank]).get_string());
      if (!words.empty()) why_not = fmt::format("rank {}: {}", rank, words);
    }
    unshared = !why_not.empty();
  }
  if (why_not.empty()) {
    made.outcome.access = std::move(peer_access);
    return made;
  }
  // Freeing memory waits for the GPU, so no rank may queue kernels before all ranks have freed theirs.
  peer_access.reset();
  WEIR_TRY(bootstrap.barrier());
  const auto maps = [](const Offer& offer) { return offer.maps; };
  const auto elsewhere = [&](const Offer& offer) { return offer.process != offers.front().process; };
  made.may_use_files = means == Means::handles && unshared &&
                       std::all_of(offers.begin(), offers.end(), maps) &&
                       std::any_of(offers.begin(), offers.end(), elsewhere);
  return made;
}

void GpuPeerAccess::leave() {
  auto* const word = reinterpret_cast<uint64_t*>(words_.data());
  *word = graphs_ ? kLeftGraphs : kLeft;
  for (std::byte* const there : fins_) {
    if (there == nullptr) continue;
    (void)gpu_->copy(there + static_cast<size_t>(rank_) * sizeof(uint64_t), word, sizeof(uint64_t), exit_);
  }
  (void)settle_exit();
  share_.give_back();
}

/// Waits briefly for the stream of fins; true if it is empty.
bool GpuPeerAccess::settle_exit() {
  if (!gpu_->set(read_, ++reads_, exit_).ok()) return false;
  const int64_t until = now_ns() + kLookNs;
  bool done = false;
  poll_until([&](int64_t) {
    done = read_.host->load(std::memory_order_acquire) == reads_;
    return done || now_ns() > until;
  });
  return done;
}

bool GpuPeerAccess::everyone_left() {
  const size_t ranks = segments_.at.size();
  auto* const said = reinterpret_cast<uint64_t*>(words_.data() + kSegmentAlignment);
  if (!gpu_->copy(said, memory_, ranks * sizeof(uint64_t), exit_).ok()) return false;
  if (!settle_exit()) return false;
  for (size_t rank = 0; rank < ranks; ++rank)
    if (fins_[rank] != nullptr && said[rank] == 0) return false;
  graphs_ = graphs_ || std::find(said, said + ranks, kLeftGraphs) != said + ranks;
  return true;
}

void GpuPeerAccess::let_go() {
  if (gpu_ == nullptr) return;
  executor_.reset();
  flags_.reset();
  const auto warn = [](const Status& done) {
    if (!done.ok()) WEIR_INFO(alloc, "memory of a GPU was not freed: {}", done.message());
  };
  for (const device::GpuMapping& segment : attached_)
    warn(segment.bytes == 0 ? gpu_->sharing()->detach(segment.memory) : gpu_->mappings()->free(segment));
  if (file_.valid()) {
    warn(gpu_->mappings()->free({memory_, memory_bytes_}));
  } else if (memory_ != nullptr) {
    warn(gpu_->free(memory_, GpuMemory::coherent));
  }
  for (const device::GpuStream stream : {stream_, exit_})
    if (stream != nullptr) warn(gpu_->destroy_stream(stream));
}

void LingeringPeerAccess::enter(const GpuPeerAccess& peer_access) {
  const std::lock_guard lock(mutex_);
  ++inside_[peer_access.uid()];
  if (peer_access.shares_gpu_here()) ++sharing_[&peer_access.gpu()];
}

void LingeringPeerAccess::sweep() {
  for (std::unique_ptr<GpuPeerAccess>& peer_access : left_) {
    if (!peer_access->everyone_left()) continue;
    const bool graphs = peer_access->expects_graphs();
    if (graphs) peer_access->executor().retire();
    (graphs ? kept_ : unused_).push_back(std::move(peer_access));
  }
  std::erase(left_, nullptr);
  std::erase_if(unused_, [this](const auto& one) { return sharing_[&one->gpu()] == 0; });
}

void LingeringPeerAccess::leave(std::unique_ptr<GpuPeerAccess> peer_access, bool idle) {
  const uint64_t uid = peer_access->uid();
  bool last = false;
  {
    const std::lock_guard lock(mutex_);
    last = --inside_[uid] == 0;
    if (last) inside_.erase(uid);
    if (peer_access->shares_gpu_here()) --sharing_[&peer_access->gpu()];
    if (idle) peer_access->leave();
    (idle ? left_ : kept_).push_back(std::move(peer_access));
  }
  if (!idle) return;
  const int64_t until = now_ns() + kEndWaitNs;
  poll_until([&](int64_t) {
    const std::lock_guard lock(mutex_);
    sweep();
    const bool waits =
        std::any_of(left_.begin(), left_.end(), [&](const auto& i) { return i->uid() == uid; });
    return !last || !waits || now_ns() > until;
  });
}

}  // namespace weir::core
