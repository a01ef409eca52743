// SPDX-License-Identifier: Apache-2.0
/// Candidate "weir": uses nccl.h only, so it also links with NVIDIA's library if that supports host buffers.
/// --mode private: ordinary buffers; shared: buffers from ncclMemAlloc.
#include <nccl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "bench/compare/loop.h"

namespace {

using compare::Call;
using compare::Op;

void check(ncclResult_t result, const char* what) {
  if (result == ncclSuccess) return;
  std::fprintf(stderr, "compare: %s: %s: %s\n", what, ncclGetErrorString(result), ncclGetLastError(nullptr));
  _exit(1);
}

class Nccl final : public compare::Library {
 public:
  Nccl(compare::Control& control, bool shared)
      : rank_(control.rank()), ranks_(control.ranks()), shared_(shared) {
    ncclUniqueId id;
    if (rank_ == 0) check(ncclGetUniqueId(&id), "ncclGetUniqueId");
    control.share(&id, sizeof(id));
    check(ncclCommInitRank(&comm_, ranks_, id, rank_), "ncclCommInitRank");
  }
  ~Nccl() override { check(ncclCommDestroy(comm_), "ncclCommDestroy"); }
  Nccl(const Nccl&) = delete;
  Nccl& operator=(const Nccl&) = delete;

  bool does(Op) const override { return true; }
  float* allocate(size_t bytes) override {
    if (!shared_) return compare::allocate_ordinary(bytes);
    void* memory = nullptr;
    check(ncclMemAlloc(&memory, bytes), "ncclMemAlloc");
    return static_cast<float*>(memory);
  }
  void release(float* memory) override {
    if (shared_) {
      check(ncclMemFree(memory), "ncclMemFree");
    } else {
      std::free(memory);
    }
  }
  void prepare(const Call&) override {}
  void run(const Call& call) override { check(issue(call), compare::name_of(call.op).data()); }

 private:
  ncclResult_t issue(const Call& call) const {
    const float* in = call.input;
    float* out = call.output;
    const size_t count = call.count;
    switch (call.op) {
      case Op::all_reduce: return ncclAllReduce(in, out, count, ncclFloat32, ncclSum, comm_, nullptr);
      case Op::all_gather: return ncclAllGather(in, out, count, ncclFloat32, comm_, nullptr);
      case Op::reduce_scatter: return ncclReduceScatter(in, out, count, ncclFloat32, ncclSum, comm_, nullptr);
      case Op::broadcast:
        return ncclBcast(rank_ == 0 ? const_cast<float*>(in) : out, count, ncclFloat32, 0, comm_, nullptr);
      case Op::reduce: return ncclReduce(in, out, count, ncclFloat32, ncclSum, 0, comm_, nullptr);
      case Op::all_to_all: return ncclAlltoAll(in, out, count, ncclFloat32, comm_, nullptr);
      case Op::gather: return ncclGather(in, out, count, ncclFloat32, 0, comm_, nullptr);
      case Op::scatter: return ncclScatter(in, out, count, ncclFloat32, 0, comm_, nullptr);
      case Op::sendrecv: break;
    }
    check(ncclGroupStart(), "ncclGroupStart");
    check(ncclSend(in, count, ncclFloat32, (rank_ + 1) % ranks_, comm_, nullptr), "ncclSend");
    check(ncclRecv(out, count, ncclFloat32, (rank_ + ranks_ - 1) % ranks_, comm_, nullptr), "ncclRecv");
    return ncclGroupEnd();
  }

  int rank_;
  int ranks_;
  bool shared_;
  ncclComm_t comm_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
  const compare::LoopOptions options = compare::parse(argc, argv);
  compare::Control control = compare::begin(options);
  int code = 0;
  {
    Nccl library(control, options.mode == "shared");
    code = compare::run_loop(library, control, options);
  }
  return compare::end(options, control, code);
}
