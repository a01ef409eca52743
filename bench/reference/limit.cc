// SPDX-License-Identifier: Apache-2.0
/// build/bin/limit: the time that the cores of this machine need to read and write the bytes of a collective.
/// --mode cached | streaming, and the options of bench/compare/loop.h.
///
/// All ranks can address the buffers of all others, whose contents do not change, so that nobody waits for
/// anybody: each rank reads its part of the inputs where they are, and writes its part of the outputs where
/// they have to be, once. A library whose ranks have buffers of their own, and have to agree, takes longer.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "bench/compare/loop.h"
#include "bench/reference/kernels.h"
#include "bench/reference/shared_buffers.h"

namespace {

using compare::Call;
using compare::Op;

class Limit final : public compare::Library {
 public:
  Limit(reference::Arena& arena, int rank, int ranks, bool streams)
      : arena_(arena), rank_(rank), ranks_(ranks), streams_(streams) {}

  bool does(Op) const override { return true; }
  float* allocate(size_t bytes) override { return arena_.allocate(rank_, bytes); }
  void release(float*) override {}
  void prepare(const Call& call) override {
    for (int rank = 0; rank < ranks_; ++rank) {
      inputs_[rank] = arena_.at(rank, call.input, rank_);
      outputs_[rank] = arena_.at(rank, call.output, rank_);
    }
  }

  void run(const Call& call) override {
    const size_t count = call.count;
    const size_t own = static_cast<size_t>(rank_) * count;
    switch (call.op) {
      case Op::sendrecv: copy(call.output, inputs_[(rank_ + ranks_ - 1) % ranks_], count); break;
      case Op::broadcast:
        if (rank_ != 0) copy(call.output, inputs_[0], count);
        break;
      case Op::gather: copy(outputs_[0] + own, call.input, count); break;
      case Op::scatter: copy(call.output, inputs_[0] + own, count); break;
      case Op::all_gather: copy_blocks(call, 0); break;
      case Op::all_to_all: copy_blocks(call, own); break;
      case Op::reduce_scatter: fold(&call.output, 1, own, 0, count); break;
      case Op::reduce: fold_share(1, count); break;
      case Op::all_reduce: fold_share(ranks_, count); break;
    }
    if (streams_) reference::finish_streams();
  }

 private:
  void copy(float* to, const float* from, size_t count) const {
    if (streams_) {
      reference::stream_copy(to, from, count);
    } else {
      std::memcpy(to, from, count * sizeof(float));
    }
  }

  void copy_blocks(const Call& call, size_t offset) const {
    for (int rank = 0; rank < ranks_; ++rank)
      copy(call.output + static_cast<size_t>(rank) * call.count, inputs_[rank] + offset, call.count);
  }

  void fold_share(int targets, size_t count) const {
    const reference::Share share = reference::share_of(count, ranks_, rank_);
    fold(outputs_, targets, share.first, share.first, share.count);
  }

  /// Sums the inputs from `input` on into `targets` outputs from `output` on.
  void fold(float* const* outputs, int targets, size_t input, size_t output, size_t count) const {
    const float* from[reference::kMostRanks];
    float* to[reference::kMostRanks];
    for (int rank = 0; rank < ranks_; ++rank) from[rank] = inputs_[rank] + input;
    for (int rank = 0; rank < targets; ++rank) to[rank] = outputs[rank] + output;
    if (streams_) return reference::stream_fold(to, targets, from, ranks_, count);
    constexpr size_t kTile = 4096;  // of the first-level cache, from which the other outputs are written
    for (size_t done = 0; done < count; done += kTile) {
      const size_t now = std::min(kTile, count - done);
      reference::fold(to[0], from, ranks_, now);
      for (int rank = 1; rank < targets; ++rank) std::memcpy(to[rank], to[0], now * sizeof(float));
      for (int rank = 0; rank < ranks_; ++rank) from[rank] += now;
      for (int rank = 0; rank < targets; ++rank) to[rank] += now;
    }
  }

  reference::Arena& arena_;
  const int rank_;
  const int ranks_;
  const bool streams_;
  const float* inputs_[reference::kMostRanks] = {};
  float* outputs_[reference::kMostRanks] = {};
};

}  // namespace

int main(int argc, char** argv) {
  const compare::LoopOptions options = compare::parse(argc, argv);
  const int ranks = options.ranks == 0 ? 2 : options.ranks;
  const bool streams = options.mode == "streaming";
  if (ranks < 2 || ranks > reference::kMostRanks ||
      !(streams || options.mode.empty() || options.mode == "cached")) {
    std::fprintf(stderr, "limit: expected --ranks from 2 to %d, and --mode cached or streaming\n",
                 reference::kMostRanks);
    return 2;
  }
  constexpr size_t kSlack = 1 << 16;
  const size_t most = *std::max_element(options.sizes.begin(), options.sizes.end());
  compare::Control control = compare::Control::shared_by_fork(ranks);
  reference::Arena arena(ranks, 2 * (most + kSlack));
  control.adopt(compare::fork_ranks(ranks));
  Limit library(arena, control.rank(), ranks, streams);
  const int code = compare::run_loop(library, control, options);
  if (control.rank() != 0) _exit(code);
  const int others = compare::wait_for_ranks();
  return code != 0 ? code : others;
}
