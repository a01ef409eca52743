// SPDX-License-Identifier: Apache-2.0
/// Candidate "oneccl": oneCCL on host memory. Started by Intel MPI's launcher, through which its ranks meet.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <oneapi/ccl.hpp>
#include <string>

#include "bench/compare/loop.h"

namespace {

using compare::Call;
using compare::Op;

ccl::communicator communicator_of(compare::Control& control) {
  ccl::kvs::address_type address;
  static_assert(sizeof(address) <= compare::Control::kNoteBytes);
  std::shared_ptr<ccl::kvs> store;
  if (control.rank() == 0) {
    store = ccl::create_main_kvs();
    address = store->get_address();
  }
  control.share(address.data(), address.size());
  if (control.rank() != 0) store = ccl::create_kvs(address);
  return ccl::create_communicator(control.ranks(), control.rank(), store);
}

class OneCcl final : public compare::Library {
 public:
  explicit OneCcl(compare::Control& control) : rank_(control.rank()), world_(communicator_of(control)) {}
  bool does(Op op) const override { return op != Op::gather && op != Op::scatter && op != Op::sendrecv; }
  float* allocate(size_t bytes) override { return compare::allocate_ordinary(bytes); }
  void release(float* memory) override { std::free(memory); }
  void prepare(const Call&) override {}
  void run(const Call& call) override { issue(call).wait(); }

 private:
  ccl::event issue(const Call& call) const {
    constexpr auto kFloat = ccl::datatype::float32;
    constexpr auto kSum = ccl::reduction::sum;
    const float* in = call.input;
    float* out = call.output;
    switch (call.op) {
      case Op::all_reduce: return ccl::allreduce(in, out, call.count, kFloat, kSum, world_);
      case Op::all_gather: return ccl::allgather(in, out, call.count, kFloat, world_);
      case Op::reduce_scatter: return ccl::reduce_scatter(in, out, call.count, kFloat, kSum, world_);
      case Op::reduce: return ccl::reduce(in, out, call.count, kFloat, kSum, 0, world_);
      case Op::all_to_all: return ccl::alltoall(in, out, call.count, kFloat, world_);
      // It is in place: the root sends from its input.
      default:
        return ccl::broadcast(rank_ == 0 ? const_cast<float*>(in) : out, call.count, kFloat, 0, world_);
    }
  }

  int rank_;
  ccl::communicator world_;
};

int number(const char* name) {
  const char* value = std::getenv(name);
  if (value != nullptr) return std::atoi(value);
  std::fprintf(stderr, "compare: %s is not set; expected a start by mpiexec.hydra\n", name);
  std::exit(2);
}

}  // namespace

int main(int argc, char** argv) {
  const compare::LoopOptions options = compare::parse(argc, argv);
  const int rank = number("PMI_RANK");
  // Binding first keeps threads that the library starts on the core of their rank.
  if (options.pinned) compare::pin(rank);
  compare::Control control = compare::Control::shared_by_file(options.control, rank, number("PMI_SIZE"));
  try {
    ccl::init();
    OneCcl library(control);
    return compare::run_loop(library, control, options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "compare: %s\n", error.what());
    return 1;
  }
}
