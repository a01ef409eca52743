// SPDX-License-Identifier: Apache-2.0

#include "src/exec/gpu/kernel_executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <new>

#include "src/base/chunks.h"
#include "src/exec/gpu/pair_table.h"

namespace weir::exec::gpu {
namespace {

constexpr uint32_t kMostBlocks = 512;
/// Blocks of sends and receives, as many as NCCL uses at most: a network needs no more, and the others stay
/// free for the program's own kernels.
constexpr uint32_t kMostPairBlocks = 32;
constexpr size_t kCodeUnit = 256;
constexpr uint32_t kLeastThreads = 64;
/// Bytes of a chunk that a pass moves if no message size limits it: large compared with the cost of a pass,
/// and small enough that the data of all blocks stay in the GPU's caches.
constexpr size_t kDirectBytes = size_t{128} << 10;

/// The ring that each channel uses, among those with its peer in its direction. Both ends count in the same
/// way.
std::vector<uint32_t> rings_of(const Program& program) {
  std::map<std::pair<Rank, bool>, std::vector<uint32_t>> numbers;
  for (const Channel& channel : program.channels)
    numbers[{channel.peer, channel.outgoing}].push_back(channel.number);
  for (auto& [peer, list] : numbers) std::sort(list.begin(), list.end());
  std::vector<uint32_t> rings;
  for (const Channel& channel : program.channels) {
    const auto& list = numbers[{channel.peer, channel.outgoing}];
    rings.push_back(
        static_cast<uint32_t>(std::lower_bound(list.begin(), list.end(), channel.number) - list.begin()));
  }
  return rings;
}

/// The resources that a plan needs, each on the rank that needs most of it.
struct Needs {
  uint32_t rings = 1;  ///< rings of one shard between two ranks in one direction
  uint32_t lanes = 1;
  size_t scratch_chunks = 0;
  size_t image_bytes = 0;
  size_t channels = 0;
  bool messages = false;  ///< whether there are messages with data
  bool pulls = false;
  bool direct = false;
};

Needs needs_of(std::span<const Program> programs) {
  Needs all;
  bool scratch = false;
  for (const Program& program : programs) {
    const std::vector<uint32_t> rings = rings_of(program);
    for (const uint32_t ring : rings) all.rings = std::max(all.rings, ring + 1);
    const Image image = image_of(program);
    all.lanes = std::max(all.lanes, image.lane_count);
    all.image_bytes = std::max(all.image_bytes, image.bytes.size());
    all.channels = std::max(all.channels, program.channels.size());
    all.messages |= std::any_of(program.channels.begin(), program.channels.end(),
                                [](const Channel& channel) { return channel.chunks > 0; });
    const auto has = [&](Place::Kind kind) {
      return std::any_of(program.places.begin(), program.places.end(),
                         [&](const Place& place) { return place.kind == kind; });
    };
    all.pulls |= has(Place::Kind::peer_scratch);
    all.direct |= has(Place::Kind::peer_input) || has(Place::Kind::peer_output);
    scratch |= has(Place::Kind::scratch);
    all.scratch_chunks = std::max<size_t>(all.scratch_chunks, program.scratch_chunks);
  }
  if (all.direct && !scratch) all.scratch_chunks = 0;
  return all;
}

Status misfit(std::string_view words) {
  return {Code::invalid_argument, fmt::format("the plan does not fit the ranks' segments: {}", words)};
}

/// Whether this executor supports the plan; `far`: some ranks are on other hosts.
Status allows(const Needs& needs, const RunParameters& way, bool far) {
  const bool packets = way.protocol == RingProtocol::packet;
  if (needs.pulls) return misfit("its ranks read each other's scratch");
  if (needs.direct && packets)
    return misfit("its ranks use each other's buffers, which the packet protocol does not support");
  if (far && (needs.direct || packets))
    return misfit("between hosts only messages of the bandwidth protocol are supported");
  return {};
}

/// The number of rings per direction so that each ring to and from every other rank gets its own block.
uint32_t pair_rings_of(size_t ranks, uint32_t blocks, uint32_t most) {
  const auto directions = static_cast<uint32_t>(2 * std::max<size_t>(ranks - 1, 1));
  return std::clamp<uint32_t>(blocks / directions, 1, most);
}

}  // namespace

/// Pinned memory that both the GPU and the host use while calls run. The bytes of `code` extend beyond the
/// struct.
struct KernelExecutor::Pages {
  alignas(kLineBytes) uint64_t abort = 0;
  alignas(kLineBytes) Note notes[kMostBlocks];
  alignas(kLineBytes) std::byte code[1];
};

/// A plan with its code, which is copied to the segment before the first launch.
class KernelExecutor::Bound final : public Ready {
 public:
  Bound(const Program& own, RingProtocol protocol) : program(own), protocol(protocol) {}

  const Program program;
  const RingProtocol protocol;
  Launch launch;
  size_t code_at = 0;  ///< offset in the segment's code area
  size_t code_bytes = 0;
  bool sent = false;  ///< whether the code is in the segment
};

KernelExecutor::KernelExecutor(device::Gpu& gpu, const LoadedKernels& kernels, GpuSegments segments,
                               const Limits& limits, ProxyRings* proxied, Pages* pages, uint64_t pages_on_gpu)
    : gpu_(gpu),
      kernels_(kernels),
      segments_(std::move(segments)),
      table_(GpuSegmentTable::Ranks::of(segments_), segments_.bytes),
      proxied_(proxied),
      limits_{std::min(limits.blocks, kMostBlocks)},
      pages_(pages),
      pages_on_gpu_(pages_on_gpu),
      pair_rings_(pair_rings_of(segments_.at.size(), std::min(limits_.blocks, kMostPairBlocks),
                                rings(GpuSegmentTable::Kind::bandwidth))) {
  write_pair_ports();
}

KernelExecutor::~KernelExecutor() { (void)gpu_.free(pages_, device::GpuMemory::pinned); }

Result<std::unique_ptr<KernelExecutor>> KernelExecutor::create(device::Gpu& gpu, const LoadedKernels& kernels,
                                                               GpuSegments segments, const Limits& limits,
                                                               ProxyRings* proxied) {
  const GpuSegmentTable table(GpuSegmentTable::Ranks::of(segments), segments.bytes);
  auto memory = gpu.allocate(sizeof(Pages) + table.code().bytes, device::GpuMemory::pinned);
  WEIR_TRY(memory.status());
  auto* const pages = new (*memory) Pages;
  auto first_word = gpu.flag_at(pages);
  if (!first_word.ok()) {
    (void)gpu.free(pages, device::GpuMemory::pinned);
    return first_word.status();
  }
  return std::unique_ptr<KernelExecutor>(
      new KernelExecutor(gpu, kernels, std::move(segments), limits, proxied, pages, first_word->device));
}

/// The number of rings of a kind between two ranks, per direction.
uint32_t KernelExecutor::rings(GpuSegmentTable::Kind kind) const {
  return proxied_ == nullptr ? GpuSegmentTable::rings(kind)
                             : std::min(GpuSegmentTable::rings(kind), ProxyRings::kRings);
}

Port KernelExecutor::port(GpuSegmentTable::Kind kind, const ProxyRings::End& end) const {
  if (segments_.is_near(end.peer)) return table_.port(segments_, kind, end.peer, end.outgoing, end.ring);
  Port port = proxied_->on_gpu(end);
  port.done = table_.count(segments_, end);
  return port;
}

Result<std::unique_ptr<Ready>> KernelExecutor::prepare(const ir::Plan& plan,
                                                       std::span<const Program> programs,
                                                       const RunParameters& way) {
  const Needs needs = needs_of(programs);
  WEIR_TRY(allows(needs, way, proxied_ != nullptr));
  const GpuSegmentTable::Kind kind = way.protocol == RingProtocol::packet ? GpuSegmentTable::Kind::packet
                                     : needs.messages                     ? GpuSegmentTable::Kind::bandwidth
                                                                          : GpuSegmentTable::Kind::signal;
  const uint32_t shards = std::min({way.shards, rings(kind) / needs.rings, limits_.blocks / needs.lanes});
  if (shards == 0)
    return misfit(
        fmt::format("it needs {} rings between two ranks ({} available) and {} blocks ({} available)",
                    needs.rings, rings(kind), needs.lanes, limits_.blocks));
  const Program& own = programs[static_cast<size_t>(segments_.rank)];
  auto bound = std::make_unique<Bound>(own, way.protocol);
  bound->shards = shards;
  size_t capacity = needs.messages ? table_.message_bytes(kind) / own.message_chunks : kDirectBytes;
  if (needs.scratch_chunks > 0)
    capacity = std::min(capacity, table_.scratch().bytes / (shards * needs.scratch_chunks));
  bound->tile_bytes = capacity / kGrainBytes * kGrainBytes;
  if (bound->tile_bytes == 0)
    return misfit(fmt::format(
        "a tile would be empty with {} chunks in a message of {} bytes and {} chunks in {} bytes of scratch",
        own.message_chunks, table_.message_bytes(kind), shards * needs.scratch_chunks,
        table_.scratch().bytes));
  // These sizes are the same on all ranks, so that all segments become full at the same plan.
  const size_t ports_at = round_up(needs.image_bytes, kCodeUnit);
  const size_t ranks = segments_.at.size();
  const size_t buffers_at =
      round_up(ports_at + shards * needs.channels * sizeof(Port), sizeof(BuffersOfRank));
  const size_t buffers = needs.direct ? shards * needs.lanes * ranks : 0;
  bound->code_bytes = round_up(buffers_at + buffers * sizeof(BuffersOfRank), kCodeUnit);
  if (code_used_ + bound->code_bytes > table_.code().bytes)
    return misfit(fmt::format("{} of {} bytes for code are in use", code_used_, table_.code().bytes));
  bound->code_at = code_used_;
  code_used_ += bound->code_bytes;

  const Image image = image_of(own);
  std::byte* const staged = pages_->code + bound->code_at;
  std::memcpy(staged, image.bytes.data(), image.bytes.size());
  write_ports(*bound, kind, needs.rings, reinterpret_cast<Port*>(staged + ports_at));
  std::byte* const segment = segments_.own();
  const std::byte* const code = segment + table_.code().at + bound->code_at;
  Launch& launch = bound->launch;
  bind(launch, image, code);
  launch.ports = reinterpret_cast<const Port*>(code + ports_at);
  if (needs.direct) {
    std::memset(staged + buffers_at, 0, buffers * sizeof(BuffersOfRank));
    launch.buffers =
        reinterpret_cast<BuffersOfRank*>(segment + table_.code().at + bound->code_at + buffers_at);
    launch.ranks = static_cast<uint32_t>(ranks);
  }
  launch.ordered = orders_memory(plan);
  launch.scratch = segment + table_.scratch().at;
  launch.scratch_bytes = own.scratch_chunks * bound->tile_bytes;
  launch.abort = reinterpret_cast<const uint64_t*>(pages_on_gpu_ + offsetof(Pages, abort));
  launch.notes = reinterpret_cast<Note*>(pages_on_gpu_ + offsetof(Pages, notes));
  return std::unique_ptr<Ready>(std::move(bound));
}

std::byte* KernelExecutor::code_in_segment() const { return segments_.own() + table_.code().at; }

/// Writes the ports of sends and receives to the beginning of the code area, because all calls share them.
void KernelExecutor::write_pair_ports() {
  auto* port = reinterpret_cast<Port*>(pages_->code);
  for (size_t peer = 0; peer < segments_.at.size(); ++peer) {
    for (const bool sends : {false, true}) {
      for (uint32_t ring = 0; ring < pair_rings_; ++ring)
        *port++ = this->port(GpuSegmentTable::Kind::bandwidth, {static_cast<Rank>(peer), sends, ring});
    }
  }
  code_used_ = round_up(segments_.at.size() * 2 * pair_rings_ * sizeof(Port), kCodeUnit);
}

/// Copies code to the segment once; again if the last copy was captured in a graph, which may never be
/// launched.
Status KernelExecutor::send_code(size_t at, size_t bytes, bool& sent, device::GpuStream stream) {
  if (sent) return {};
  WEIR_TRY(gpu_.copy(code_in_segment() + at, pages_->code + at, bytes, stream));
  auto captured = gpu_.captures(stream);
  WEIR_TRY(captured.status());
  sent = !*captured;
  return {};
}

/// Writes the ports of all channels of all shards; each shard has `rings_of_shard` rings between two ranks.
void KernelExecutor::write_ports(const Bound& bound, GpuSegmentTable::Kind kind, uint32_t rings_of_shard,
                                 Port* port) const {
  const std::vector<uint32_t> rings = rings_of(bound.program);
  for (uint32_t shard = 0; shard < bound.shards; ++shard) {
    for (size_t c = 0; c < rings.size(); ++c) {
      const Channel& channel = bound.program.channels[c];
      const ProxyRings::End end{channel.peer, channel.outgoing, shard * rings_of_shard + rings[c]};
      *port++ = this->port(kind, end);
      if (!segments_.is_near(end.peer)) proxied_->want(end);
    }
  }
}

Result<bool> KernelExecutor::queue_part(Ready& ready, const Work& work, device::GpuStream stream, size_t) {
  auto& bound = static_cast<Bound&>(ready);
  Launch launch = bound.launch;
  if (launch.lane_count == 0) return false;
  WEIR_TRY(set_work(launch, bound.program, work, bound.tile_bytes));
  WEIR_TRY(send_code(bound.code_at, bound.code_bytes, bound.sent, stream));
  launch.shards = static_cast<uint32_t>(std::min<size_t>(bound.shards, launch.division.passes));
  const bool packets = bound.protocol == RingProtocol::packet;
  const size_t piece = launch.division.tile * launch.element / (packets ? 8 : 64);
  const auto threads = static_cast<uint32_t>(round_up(std::max<size_t>(piece, 1), kLeastThreads));
  void* arguments[] = {&launch};
  device::GpuLaunch grid;
  grid.kernel = packets ? kernels_.packet : kernels_.bandwidth;
  grid.blocks = launch.lane_count * launch.shards;
  grid.threads = std::min(threads, kernels_.most_threads);
  grid.arguments = arguments;
  WEIR_TRY(gpu_.kernels()->launch(grid, stream));
  return false;
}

/// The table is part of the launch's argument; if it is too long, earlier launches store it in the scratch
/// area.
Status KernelExecutor::exchange(std::span<const PeerTransfer> pairs, device::GpuStream stream) {
  const PairCut cut{pair_rings_, table_.message_bytes(GpuSegmentTable::Kind::bandwidth)};
  const PairTable table = pair_table(pairs, cut);
  const uint32_t lanes = table.directions * table.rings;
  const size_t table_at = round_up(lanes * sizeof(PairProgress), kCodeUnit);
  const size_t capacity = table_.scratch().bytes;
  if (table_at + table.bytes.size() > capacity)
    return {Code::invalid_argument,
            fmt::format("{} sends and receives in one group are too many; expected at most {}", pairs.size(),
                        (capacity - table_at) / sizeof(PairMessage))};
  WEIR_TRY(send_code(0, segments_.at.size() * 2 * pair_rings_ * sizeof(Port), pair_ports_sent_, stream));
  std::byte* const scratch = segments_.own() + table_.scratch().at;
  PairsLaunch launch;
  void* arguments[] = {&launch};
  device::GpuLaunch grid;
  grid.kernel = kernels_.pairs;
  grid.threads = kLeastThreads;
  grid.arguments = arguments;
  const bool along = table.bytes.size() <= PairsLaunch::kOwnBytes;
  for (size_t at = 0; at < table.bytes.size(); at += PairsLaunch::kOwnBytes) {
    launch.own_bytes =
        static_cast<uint32_t>(std::min<size_t>(table.bytes.size() - at, PairsLaunch::kOwnBytes));
    std::memcpy(launch.own, table.bytes.data() + at, launch.own_bytes);
    launch.store = along ? nullptr : scratch + table_at + at;
    if (!along) WEIR_TRY(gpu_.kernels()->launch(grid, stream));
  }
  for (const PeerTransfer& pair : pairs) {
    if (segments_.is_near(pair.peer)) continue;
    const uint32_t used = cut_pair(pair.data, pair.bytes, cut).rings;
    for (uint32_t ring = 0; ring < used; ++ring) proxied_->want({pair.peer, pair.sends, ring});
  }
  launch.store = nullptr;
  launch.table = along ? nullptr : scratch + table_at;
  launch.ports = reinterpret_cast<const Port*>(code_in_segment());
  launch.progress = reinterpret_cast<PairProgress*>(scratch);
  launch.abort = reinterpret_cast<const uint64_t*>(pages_on_gpu_ + offsetof(Pages, abort));
  launch.notes = reinterpret_cast<Note*>(pages_on_gpu_ + offsetof(Pages, notes));
  launch.directions = table.directions;
  launch.rings = table.rings;
  grid.blocks = launch.blocks = std::min({lanes, limits_.blocks, kMostPairBlocks});
  grid.threads =
      std::min(static_cast<uint32_t>(round_up(std::max<size_t>(table.piece / 64, 1), kLeastThreads)),
               kernels_.most_threads);
  return gpu_.kernels()->launch(grid, stream);
}

void KernelExecutor::abort() { __atomic_store_n(&pages_->abort, 1, __ATOMIC_RELEASE); }

Look KernelExecutor::look() {
  Look seen;
  for (Note& note : pages_->notes) {
    const uint64_t foreign = __atomic_load_n(&note.foreign, __ATOMIC_ACQUIRE);
    if (foreign != 0 && seen.foreign < 0) {
      seen.foreign = static_cast<Rank>(foreign - 1);
      seen.foreign_tag = __atomic_load_n(&note.tag, __ATOMIC_RELAXED);
      seen.expected = __atomic_load_n(&note.expected, __ATOMIC_RELAXED);
    }
    if (__atomic_load_n(&note.waiting, __ATOMIC_RELAXED) == 0) continue;
    seen.waiting_for = static_cast<Rank>(__atomic_exchange_n(&note.waiting, 0, __ATOMIC_RELAXED)) - 1;
  }
  return seen;
}

}  // namespace weir::exec::gpu
