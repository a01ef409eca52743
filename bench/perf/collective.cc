// SPDX-License-Identifier: Apache-2.0

#include "bench/perf/collective.h"

#include "bench/perf/pattern.h"

namespace weir::perf {
namespace {

constexpr size_t kBlockAlignment = 16;  ///< bytes; per-rank blocks are rounded down to it

size_t block_of(size_t count, size_t type_size, int ranks) {
  size_t unit = kBlockAlignment / type_size;
  return count / static_cast<size_t>(ranks) / unit * unit;
}

Layout one_buffer(size_t count, size_t, int) { return {count, count, count}; }

Layout gathered(size_t count, size_t type_size, int ranks) {
  size_t block = block_of(count, type_size, ranks);
  return {block, block * static_cast<size_t>(ranks), block, block, 0};
}

Layout scattering(size_t count, size_t type_size, int ranks) {
  size_t block = block_of(count, type_size, ranks);
  return {block * static_cast<size_t>(ranks), block, block, 0, block};
}

Layout exchanging(size_t count, size_t type_size, int ranks) {
  size_t block = block_of(count, type_size, ranks);
  size_t all = block * static_cast<size_t>(ranks);
  return {all, all, block};
}

double own(double bytes, int) { return bytes; }
double of_all(double bytes, int ranks) { return bytes * ranks; }
double of_others(double bytes, int ranks) { return bytes * (ranks - 1); }

double once(int) { return 1; }
double all_but_own(int ranks) { return (ranks - 1.0) / ranks; }
double there_and_back(int ranks) { return 2 * (ranks - 1.0) / ranks; }

std::vector<Segment> reduction(const Layout& layout, int, int, int) {
  return {{0, layout.recv, Pattern::kReduced, 0}};
}

std::vector<Segment> reduction_at_root(const Layout& layout, int rank, int, int root) {
  if (rank != root) return {};
  return {{0, layout.recv, Pattern::kReduced, 0}};
}

std::vector<Segment> reduced_block(const Layout& layout, int rank, int, int) {
  return {{0, layout.recv, Pattern::kReduced, static_cast<size_t>(rank) * layout.count}};
}

std::vector<Segment> input_of_root(const Layout& layout, int, int, int root) {
  return {{0, layout.recv, root, 0}};
}

std::vector<Segment> block_of_root(const Layout& layout, int rank, int, int root) {
  return {{0, layout.recv, root, static_cast<size_t>(rank) * layout.count}};
}

std::vector<Segment> input_of_the_one_before(const Layout& layout, int rank, int ranks, int) {
  return {{0, layout.recv, (rank + ranks - 1) % ranks, 0}};
}

std::vector<Segment> all_inputs(const Layout& layout, int, int ranks, int) {
  std::vector<Segment> segments;
  for (int from = 0; from < ranks; ++from)
    segments.push_back({static_cast<size_t>(from) * layout.count, layout.count, from, 0});
  return segments;
}

std::vector<Segment> all_inputs_at_root(const Layout& layout, int rank, int ranks, int root) {
  if (rank != root) return {};
  return all_inputs(layout, rank, ranks, root);
}

std::vector<Segment> own_block_of_all(const Layout& layout, int rank, int ranks, int root) {
  std::vector<Segment> segments = all_inputs(layout, rank, ranks, root);
  for (Segment& segment : segments) segment.source_at = static_cast<size_t>(rank) * layout.count;
  return segments;
}

ncclResult_t all_reduce(const Call& c) {
  return ncclAllReduce(c.send, c.recv, c.count, c.type, c.op, c.comm, c.stream);
}

ncclResult_t reduce(const Call& c) {
  return ncclReduce(c.send, c.recv, c.count, c.type, c.op, c.root, c.comm, c.stream);
}

ncclResult_t broadcast(const Call& c) {
  return ncclBroadcast(c.send, c.recv, c.count, c.type, c.root, c.comm, c.stream);
}

ncclResult_t all_gather(const Call& c) {
  return ncclAllGather(c.send, c.recv, c.count, c.type, c.comm, c.stream);
}

ncclResult_t reduce_scatter(const Call& c) {
  return ncclReduceScatter(c.send, c.recv, c.count, c.type, c.op, c.comm, c.stream);
}

ncclResult_t alltoall(const Call& c) {
  return ncclAlltoAll(c.send, c.recv, c.count, c.type, c.comm, c.stream);
}

ncclResult_t gather(const Call& c) {
  return ncclGather(c.send, c.recv, c.count, c.type, c.root, c.comm, c.stream);
}

ncclResult_t scatter(const Call& c) {
  return ncclScatter(c.send, c.recv, c.count, c.type, c.root, c.comm, c.stream);
}

const char* at(const void* buffer, int block, const Call& c) {
  return static_cast<const char*>(buffer) + static_cast<size_t>(block) * c.count * c.type_size;
}

char* at(void* buffer, int block, const Call& c) {
  return static_cast<char*>(buffer) + static_cast<size_t>(block) * c.count * c.type_size;
}

/// Ends the group even after an error inside it; returns the first error.
ncclResult_t end_group(ncclResult_t inside) {
  ncclResult_t end = ncclGroupEnd();
  return inside != ncclSuccess ? inside : end;
}

ncclResult_t send_and_receive(const void* send, int to, void* recv, int from, size_t count, const Call& c) {
  ncclResult_t sent = ncclSend(send, count, c.type, to, c.comm, c.stream);
  return sent != ncclSuccess ? sent : ncclRecv(recv, count, c.type, from, c.comm, c.stream);
}

ncclResult_t sendrecv(const Call& c) {
  if (ncclResult_t begun = ncclGroupStart(); begun != ncclSuccess) return begun;
  return end_group(
      send_and_receive(c.send, (c.rank + 1) % c.ranks, c.recv, (c.rank + c.ranks - 1) % c.ranks, c.count, c));
}

ncclResult_t alltoallv(const Call& c) {
  if (ncclResult_t begun = ncclGroupStart(); begun != ncclSuccess) return begun;
  ncclResult_t inside = ncclSuccess;
  for (int peer = 0; peer < c.ranks && inside == ncclSuccess; ++peer)
    inside = send_and_receive(at(c.send, peer, c), peer, at(c.recv, peer, c), peer, c.count, c);
  return end_group(inside);
}

ncclResult_t exchange(const void* send, void* recv, int partner, size_t count, const Call& c) {
  if (ncclResult_t begun = ncclGroupStart(); begun != ncclSuccess) return begun;
  return end_group(send_and_receive(send, partner, recv, partner, count, c));
}

/// All-gather by exchanging blocks with partners at doubling distances.
ncclResult_t hypercube(const Call& c) {
  char* const own = at(c.recv, c.rank, c);
  if (c.send != own)
    if (ncclResult_t copied = exchange(c.send, own, c.rank, c.count, c); copied != ncclSuccess) return copied;
  for (int distance = 1; distance < c.ranks; distance *= 2) {
    const int partner = c.rank ^ distance;
    char* const mine = at(c.recv, c.rank & ~(distance - 1), c);
    char* const theirs = at(c.recv, partner & ~(distance - 1), c);
    const size_t count = c.count * static_cast<size_t>(distance);
    if (ncclResult_t done = exchange(mine, theirs, partner, count, c); done != ncclSuccess) return done;
  }
  return ncclSuccess;
}

constexpr auto kOp = OpColumn::op;
constexpr auto kNone = OpColumn::none;

// Columns: program, reduces, has a root, checks in place, hypercube, redop; layout, volume, bus factor, run,
// expected.
constexpr Collective kCollectives[] = {
    {"all_reduce_perf", true, false, true, false, kOp, one_buffer, own, there_and_back, all_reduce,
     reduction},
    {"all_gather_perf", false, false, true, false, kNone, gathered, of_all, all_but_own, all_gather,
     all_inputs},
    {"reduce_scatter_perf", true, false, true, false, kOp, scattering, of_all, all_but_own, reduce_scatter,
     reduced_block},
    {"broadcast_perf", false, true, true, false, kNone, one_buffer, own, once, broadcast, input_of_root},
    {"reduce_perf", true, true, true, false, kOp, one_buffer, own, once, reduce, reduction_at_root},
    {"alltoall_perf", false, false, false, false, kNone, exchanging, of_all, all_but_own, alltoall,
     own_block_of_all},
    {"alltoallv_perf", false, false, false, false, kNone, exchanging, of_all, all_but_own, alltoallv,
     own_block_of_all},
    {"gather_perf", false, true, true, false, kNone, gathered, of_all, all_but_own, gather,
     all_inputs_at_root},
    {"scatter_perf", false, true, true, false, kNone, scattering, of_all, all_but_own, scatter,
     block_of_root},
    {"sendrecv_perf", false, false, false, false, kOp, one_buffer, own, once, sendrecv,
     input_of_the_one_before},
    {"hypercube_perf", false, false, true, true, OpColumn::empty, gathered, of_others, once, hypercube,
     all_inputs},
};

}  // namespace

std::span<const Collective> all_collectives() { return kCollectives; }

const Collective* find_collective(std::string_view program) {
  for (const Collective& collective : kCollectives)
    if (collective.program == program) return &collective;
  return nullptr;
}

Bandwidth bandwidth(const Collective& collective, const Layout& layout, size_t type_size, int ranks,
                    double seconds) {
  double bytes = collective.volume(static_cast<double>(layout.count * type_size), ranks);
  double algorithm = bytes / 1e9 / seconds;
  return {algorithm, algorithm * collective.bus_factor(ranks)};
}

}  // namespace weir::perf
