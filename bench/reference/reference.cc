// SPDX-License-Identifier: Apache-2.0
/// build/bin/reference: the speed that this machine's cores allow. --mode private | shared, and the options
/// of bench/compare/loop.h.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "bench/compare/loop.h"
#include "bench/reference/private_buffers.h"
#include "bench/reference/shared_buffers.h"

namespace {

using compare::Call;
using compare::Op;

class PrivateLibrary final : public compare::Library {
 public:
  explicit PrivateLibrary(reference::Board& board) : buffers_(board) {}
  bool does(Op op) const override { return op == Op::all_reduce; }
  float* allocate(size_t bytes) override { return compare::allocate_ordinary(bytes); }
  void release(float* memory) override { std::free(memory); }
  void prepare(const Call&) override {}
  void run(const Call& call) override { buffers_.all_reduce(call.input, call.output, call.count); }

 private:
  reference::PrivateBuffers buffers_;
};

class SharedLibrary final : public compare::Library {
 public:
  SharedLibrary(reference::Board& board, reference::Arena& arena)
      : board_(board), arena_(arena), buffers_(board, arena) {}
  bool does(Op op) const override { return op == Op::all_reduce; }
  float* allocate(size_t bytes) override { return arena_.allocate(board_.rank(), bytes); }
  void release(float*) override {}
  void prepare(const Call&) override {}
  void run(const Call& call) override { buffers_.all_reduce(call.input, call.output, call.count); }

 private:
  reference::Board& board_;
  reference::Arena& arena_;
  reference::SharedBuffers buffers_;
};

}  // namespace

int main(int argc, char** argv) {
  const compare::LoopOptions options = compare::parse(argc, argv);
  const int ranks = options.ranks == 0 ? 2 : options.ranks;
  const bool shared = options.mode == "shared";
  if (ranks < 2 || ranks > reference::kMostRanks ||
      !(shared || options.mode.empty() || options.mode == "private")) {
    std::fprintf(stderr, "reference: expected --ranks from 2 to %d, and --mode private or shared\n",
                 reference::kMostRanks);
    return 2;
  }
  compare::Control control = compare::Control::shared_by_fork(ranks);
  reference::Board board(ranks, control.crowded());
  constexpr size_t kSlack = 1 << 16;
  const size_t most = *std::max_element(options.sizes.begin(), options.sizes.end());
  reference::Arena arena(ranks, shared ? 2 * (most + kSlack) : kSlack);

  const int rank = compare::fork_ranks(ranks);
  control.adopt(rank);
  board.adopt(rank);
  PrivateLibrary copying(board);
  SharedLibrary direct(board, arena);
  compare::Library& library = shared ? static_cast<compare::Library&>(direct) : copying;
  const int code = compare::run_loop(library, control, options);
  if (rank != 0) _exit(code);
  const int others = compare::wait_for_ranks();
  return code != 0 ? code : others;
}
