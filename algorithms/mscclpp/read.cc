// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <deque>
#include <map>

#include "algorithms/mscclpp/accesses.h"
#include "algorithms/mscclpp/file.h"
#include "algorithms/mscclpp/moves.h"
#include "algorithms/mscclpp/mscclpp.h"
#include "algorithms/mscclpp/words.h"

namespace weir::mscclpp {
namespace {

using Kind = OperationKind;

constexpr size_t kMostProcesses = 64 * 160;  // the memory of the check grows with their square: 2 GB

/// One end of a channel.
struct End {
  Rank rank = 0;
  ChannelType type = ChannelType::memory;
  int channel = 0;  // position in GpuBlocks::peers
  auto operator<=>(const End&) const = default;
};

/// A thread block that runs.
struct Running {
  Rank rank = 0;
  size_t block = 0;
  size_t next = 0;                 // operation
  uint32_t time = 2;               // having begun is time 1
  Clock clock;                     // what all threads know
  Clock learned;                   // what single threads know, until all have waited for each other
  std::map<End, uint32_t> copies;  // that its threads have begun since they waited for each other
  std::map<End, size_t> waiters;   // the thread that has waited for a channel since then
  bool at_barrier = false;
};

class Replay {
 public:
  Replay(const ExecutionPlan& plan, std::string_view name)
      : plan_(plan), name_(name), moves_(plan), accesses_(moves_.chunks()) {
    for (size_t rank = 0; rank < plan.gpus.size(); ++rank) {
      first_.push_back(running_.size());
      for (size_t block = 0; block < plan.gpus[rank].blocks.size(); ++block) {
        Running& one = running_.emplace_back();
        one.rank = static_cast<Rank>(rank), one.block = block;
        one.clock.set(running_.size() - 1, 1);
      }
      for (const int initial : plan.gpus[rank].semaphores)
        semaphores_[rank].emplace_back(static_cast<size_t>(initial), Clock());
    }
    first_.push_back(running_.size());
    processes_ = running_.size();
  }

  Result<ir::Plan> run() {
    if (processes_ > kMostProcesses)
      return Status(Code::invalid_argument, fmt::format("{}: {} thread blocks; expected at most {}", name_,
                                                        processes_, kMostProcesses));
    for (bool moved = true; moved;) {
      moved = false;
      for (process_ = 0; process_ < running_.size(); ++process_) {
        while (can_go()) {
          WEIR_TRY(go());
          ++self().next;
          moved = true;
        }
      }
    }
    WEIR_TRY(all_done());
    WEIR_TRY(all_complete());
    return moves_.take();
  }

 private:
  Running& self() { return running_[process_]; }
  const GpuBlocks& gpu() const { return plan_.gpus[static_cast<size_t>(running_[process_].rank)]; }
  const ThreadBlock& block() const { return gpu().blocks[running_[process_].block]; }
  const Operation& operation() const { return block().operations[running_[process_].next]; }
  std::string here() const {
    return place_of(name_, running_[process_].rank, running_[process_].block, running_[process_].next);
  }
  Status refuse(const std::string& sentence) const {
    return {Code::invalid_argument, fmt::format("{}: {}", here(), sentence)};
  }

  End end_of(int position) const {
    const ChannelType type = operation().type;
    return {running_[process_].rank, type, block().channels[index_of(type)][static_cast<size_t>(position)]};
  }

  /// The other end of a channel; none if the peer has too few.
  bool other_end(const End& end, End& other) const {
    const auto& peers = plan_.gpus[static_cast<size_t>(end.rank)].peers[index_of(end.type)];
    const Rank peer = peers[static_cast<size_t>(end.channel)];
    auto number = std::count(peers.begin(), peers.begin() + end.channel, peer);
    const auto& back = plan_.gpus[static_cast<size_t>(peer)].peers[index_of(end.type)];
    for (size_t c = 0; c < back.size(); ++c) {
      if (back[c] != end.rank || number-- > 0) continue;
      other = {peer, end.type, static_cast<int>(c)};
      return true;
    }
    return false;
  }

  bool can_go() {
    if (self().next == block().operations.size()) return false;
    const Operation& own = operation();
    if (own.kind == Kind::wait)
      return std::ranges::all_of(own.channels, [&](int c) { return !signals_[end_of(c)].empty(); });
    if (own.kind == Kind::acquire)
      return std::ranges::all_of(own.semaphores, [&](int s) { return !semaphore(s).empty(); });
    if (own.kind == Kind::barrier) return pass_barrier();
    return true;
  }

  std::deque<Clock>& semaphore(int number) {
    return semaphores_[static_cast<size_t>(self().rank)][static_cast<size_t>(number)];
  }

  Status go() {
    const Operation& own = operation();
    switch (own.kind) {
      case Kind::nop: synchronize(self(), process_); return {};
      case Kind::barrier: return {};
      case Kind::signal: return signal();
      case Kind::wait: return wait();
      case Kind::acquire:
        for (const int s : own.semaphores) learn(semaphore(s));
        return {};
      case Kind::release:
        for (const int s : own.semaphores) semaphore(s).push_back(self().clock);
        return {};
      case Kind::flush:
        for (size_t c = 0; c < std::min(own.channels.size(), own.destinations.size()); ++c)
          self().learned.set(copier(end_of(own.channels[c])), settled_[end_of(own.channels[c])]);
        return {};
      default: return data();
    }
  }

  void learn(std::deque<Clock>& signals) {
    self().learned.join(signals.front());
    signals.pop_front();
  }

  /// Thread t of a block waits for the t-th channel of an operation.
  Status wait() {
    for (size_t t = 0; t < operation().channels.size(); ++t) {
      const End end = end_of(operation().channels[t]);
      const auto [waiter, is_new] = self().waiters.try_emplace(end, t);
      if (!is_new && waiter->second != t)
        return refuse(fmt::format(
            "two threads wait for signals of GPU {} at the same time; expected a nop between", peer_of(end)));
      learn(signals_[end]);
    }
    return {};
  }

  void synchronize(Running& one, size_t process) {
    for (const auto& [end, copies] : one.copies) settled_[end] = copies;
    one.copies.clear();
    one.waiters.clear();
    one.clock.join(one.learned);
    one.clock.set(process, one.time++);
  }

  /// The process that copies for a port channel.
  size_t copier(const End& end) {
    const auto [place, is_new] = copiers_.try_emplace(end, processes_);
    if (is_new) ++processes_;
    return place->second;
  }

  Status signal() {
    for (const int c : operation().channels) {
      const End own = end_of(c);
      End other;
      if (!other_end(own, other))
        return refuse(fmt::format("a signal to GPU {}, which has no channel for it", peer_of(own)));
      Clock clock = self().clock;
      // The thread that has put something in has done so before it signals, others need not have.
      const bool by_itself = operation().kind == Kind::put_with_signal;
      if (own.type == ChannelType::port) clock.set(copier(own), by_itself ? copies_[own] : settled_[own]);
      signals_[other].push_back(std::move(clock));
    }
    return {};
  }

  Rank peer_of(const End& end) const {
    return plan_.gpus[static_cast<size_t>(end.rank)]
        .peers[index_of(end.type)][static_cast<size_t>(end.channel)];
  }

  RankSpan resolved(const ChunkSpan& span) const {
    if (span.remote < 0) return {running_[process_].rank, span};
    const int id = block().buffers[index_of(operation().type)][static_cast<size_t>(span.remote)];
    return {gpu().remote_buffers[static_cast<size_t>(id)].rank, span};
  }

  Status data() {
    const Operation& own = operation();
    std::vector<RankSpan> from, to;
    for (const ChunkSpan& span : own.sources) from.push_back(resolved(span));
    for (const ChunkSpan& span : own.destinations) to.push_back(resolved(span));
    ++operations_;
    const bool by_port = own.type == ChannelType::port && !own.channels.empty();
    if (by_port) {
      for (size_t i = 0; i < to.size(); ++i) WEIR_TRY(copy(end_of(own.channels[i]), from[i], to[i]));
    } else {
      const MemoryAccess now{process_, self().time, operations_};
      for (const RankSpan& span : from) WEIR_TRY(access(false, span, now, self().clock));
      for (const RankSpan& span : to) WEIR_TRY(access(true, span, now, self().clock));
    }
    moves_.add(own.kind, std::move(from), to);
    return own.kind == Kind::put_with_signal ? signal() : Status();
  }

  /// A copy by the thread of a port channel, which makes one copy after the other.
  Status copy(const End& end, const RankSpan& from, const RankSpan& to) {
    if (peer_of(end) != to.rank)
      return refuse(fmt::format("a put into memory of GPU {} on a channel to GPU {}", to.rank, peer_of(end)));
    Clock clock = self().clock;
    const size_t process = copier(end);
    clock.set(process, copies_[end]);
    const MemoryAccess now{process, ++copies_[end], operations_};
    self().copies[end] = copies_[end];
    WEIR_TRY(access(false, from, now, clock));
    return access(true, to, now, clock);
  }

  Status access(bool writes, const RankSpan& span, MemoryAccess now, const Clock& clock) {
    if (span.rank != self().rank && !has_begun(span.rank, clock))
      return refuse(fmt::format("an access to memory of GPU {}, whose kernel may not have begun", span.rank));
    for (uint32_t c = 0; c < span.span.chunks; ++c) {
      if (!accesses_[moves_.chunk(span, c)].access(writes, now, clock))
        return refuse(
            fmt::format("it {} chunk {} of buffer {} of GPU {}, and nothing orders this with an "
                        "earlier access",
                        writes ? "writes" : "reads", span.span.index + c, span.span.buffer, span.rank));
    }
    return {};
  }

  bool has_begun(Rank rank, const Clock& clock) const {
    const auto at = static_cast<size_t>(rank);
    for (size_t p = first_[at]; p < first_[at + 1]; ++p)
      if (clock.of(p) > 0) return true;
    return false;
  }

  /// Whether enough blocks have arrived; the last one lets all pass.
  bool pass_barrier() {
    const Operation& own = operation();
    if (self().at_barrier) return false;
    std::vector<size_t> arrived = {process_};
    const auto rank = static_cast<size_t>(self().rank);
    for (size_t p = first_[rank]; p < first_[rank + 1]; ++p) {
      const Running& other = running_[p];
      if (p != process_ && other.at_barrier && barrier_of(other) == own.barrier) arrived.push_back(p);
    }
    if (arrived.size() < static_cast<size_t>(own.barrier_blocks)) {
      self().at_barrier = true;
      return false;
    }
    for (const size_t p : arrived) synchronize(running_[p], p);
    Clock all;
    for (const size_t p : arrived) all.join(running_[p].clock);
    for (const size_t p : arrived) {
      running_[p].clock = all;
      running_[p].at_barrier = false;
      if (p != process_) ++running_[p].next;
    }
    return true;
  }

  int barrier_of(const Running& one) const {
    return plan_.gpus[static_cast<size_t>(one.rank)].blocks[one.block].operations[one.next].barrier;
  }

  Status all_done() {
    for (process_ = 0; process_ < running_.size(); ++process_) {
      if (self().next == block().operations.size()) continue;
      return refuse(fmt::format("deadlock: \"{}\" waits forever", word_of(operation().kind)));
    }
    for (const auto& [end, signals] : signals_)
      if (!signals.empty())
        return {Code::invalid_argument,
                fmt::format("{}: GPU {} gets {} signals of GPU {} for which no operation waits", name_,
                            end.rank, signals.size(), peer_of(end))};
    for (const auto& [rank, all] : semaphores_)
      for (size_t s = 0; s < all.size(); ++s)
        if (all[s].size() != static_cast<size_t>(plan_.gpus[rank].semaphores[s]))
          return {Code::invalid_argument,
                  fmt::format("{}: semaphore {} of GPU {} ends as {} and begins as {}; expected the same",
                              name_, s, rank, all[s].size(), plan_.gpus[rank].semaphores[s])};
    return {};
  }

  /// When the kernel of a GPU ends, its caller may use the buffers.
  Status all_complete() const {
    for (size_t rank = 0; rank < plan_.gpus.size(); ++rank) {
      Clock known;
      for (size_t p = first_[rank]; p < first_[rank + 1]; ++p) {
        known.join(running_[p].clock);
        known.join(running_[p].learned);
        known.set(p, running_[p].time);
      }
      const auto [inputs, outputs] = chunks_of(plan_.shape, static_cast<Rank>(rank));
      const std::array<std::pair<char, uint64_t>, 3> buffers = {
          {{'i', inputs}, {'o', outputs}, {'s', plan_.gpus[rank].scratch_chunks}}};
      for (const auto& [buffer, chunks] : buffers) {
        const RankSpan span{static_cast<Rank>(rank), {buffer, -1, 0, 1}};
        for (uint32_t c = 0; c < chunks; ++c)
          if (!accesses_[moves_.chunk(span, c)].complete(known))
            return {Code::invalid_argument,
                    fmt::format("{}: the kernel of GPU {} may end before the last access to chunk {} of its "
                                "buffer {}",
                                name_, rank, c, buffer)};
      }
    }
    return {};
  }

  const ExecutionPlan& plan_;
  const std::string name_;
  Moves moves_;
  std::vector<ChunkAccesses> accesses_;  // index: chunk, as Moves::chunk()
  std::vector<Running> running_;         // index: process
  std::vector<size_t> first_;            // index: rank; its first process, and all blocks at the end
  size_t processes_ = 0;
  std::map<End, std::deque<Clock>> signals_;  // that have arrived at an end
  std::map<End, size_t> copiers_;             // the process of a port channel
  std::map<End, uint32_t> copies_;            // that a port channel has begun
  std::map<End, uint32_t> settled_;           // those of them that all threads of the block know of
  std::map<size_t, std::vector<std::deque<Clock>>> semaphores_;  // by rank and number
  size_t process_ = 0;                                           // the current one
  size_t operations_ = 0;
};

/// A name that a plan's text can have.
std::string word_from(std::string_view name) {
  std::string word(name.substr(0, 64));
  for (char& c : word)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && c != '-' && c != '.') c = '_';
  return word.empty() ? "mscclpp" : word;
}

}  // namespace

Result<ir::Plan> read(std::string_view text, std::string_view name) {
  auto file = read_file(text, name);
  WEIR_TRY(file.status());
  file->name = word_from(file->name);
  return Replay(*file, name).run();
}

}  // namespace weir::mscclpp
