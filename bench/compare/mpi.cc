// SPDX-License-Identifier: Apache-2.0
/// Candidates "openmpi" and "mpich": one source, built once with each wrapper compiler. Started by mpirun;
/// the ranks synchronize through the file of --control.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>

#include "bench/compare/loop.h"

namespace {

using compare::Call;
using compare::Op;

void check(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  std::fprintf(stderr, "compare: %s failed with code %d\n", what, code);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

class Mpi final : public compare::Library {
 public:
  Mpi(int rank, int ranks) : rank_(rank), ranks_(ranks) {}
  bool does(Op) const override { return true; }
  float* allocate(size_t bytes) override { return compare::allocate_ordinary(bytes); }
  void release(float* memory) override { std::free(memory); }
  void prepare(const Call&) override {}
  void run(const Call& call) override { check(issue(call), compare::name_of(call.op).data()); }

 private:
  int issue(const Call& call) const {
    const int count = static_cast<int>(call.count);
    const float* in = call.input;
    float* out = call.output;
    const MPI_Comm world = MPI_COMM_WORLD;
    switch (call.op) {
      case Op::all_reduce: return MPI_Allreduce(in, out, count, MPI_FLOAT, MPI_SUM, world);
      case Op::all_gather: return MPI_Allgather(in, count, MPI_FLOAT, out, count, MPI_FLOAT, world);
      case Op::reduce_scatter: return MPI_Reduce_scatter_block(in, out, count, MPI_FLOAT, MPI_SUM, world);
      // MPI's broadcast is in place: the root sends from its input.
      case Op::broadcast:
        return MPI_Bcast(rank_ == 0 ? const_cast<float*>(in) : out, count, MPI_FLOAT, 0, world);
      case Op::reduce: return MPI_Reduce(in, out, count, MPI_FLOAT, MPI_SUM, 0, world);
      case Op::all_to_all: return MPI_Alltoall(in, count, MPI_FLOAT, out, count, MPI_FLOAT, world);
      case Op::gather: return MPI_Gather(in, count, MPI_FLOAT, out, count, MPI_FLOAT, 0, world);
      case Op::scatter: return MPI_Scatter(in, count, MPI_FLOAT, out, count, MPI_FLOAT, 0, world);
      case Op::sendrecv:
        return MPI_Sendrecv(in, count, MPI_FLOAT, (rank_ + 1) % ranks_, 0, out, count, MPI_FLOAT,
                            (rank_ + ranks_ - 1) % ranks_, 0, world, MPI_STATUS_IGNORE);
    }
    return MPI_ERR_OP;
  }

  int rank_;
  int ranks_;
};

}  // namespace

int main(int argc, char** argv) {
  const compare::LoopOptions options = compare::parse(argc, argv);
  // Both launchers set the local rank. Binding first keeps threads that the library starts on the core of
  // their rank.
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"}) {
    const char* value = std::getenv(name);
    if (options.pinned && value != nullptr) compare::pin(std::atoi(value));
  }
  check(MPI_Init(nullptr, nullptr), "MPI_Init");
  int rank = 0;
  int ranks = 1;
  check(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
  check(MPI_Comm_size(MPI_COMM_WORLD, &ranks), "MPI_Comm_size");
  compare::Control control = compare::Control::shared_by_file(options.control, rank, ranks);
  Mpi library(rank, ranks);
  const int code = compare::run_loop(library, control, options);
  check(MPI_Finalize(), "MPI_Finalize");
  return code;
}
