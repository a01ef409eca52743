// SPDX-License-Identifier: Apache-2.0
/// Candidate "gloo": TCP on the loopback interface, as PyTorch uses it on one host, or on --interface. --mode
/// ring, bcube or halving_doubling selects the all-reduce; other collectives do not depend on it and run with
/// ring only.
#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/alltoall.h>
#include <gloo/broadcast.h>
#include <gloo/gather.h>
#include <gloo/math.h>
#include <gloo/reduce.h>
#include <gloo/reduce_scatter.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/scatter.h>
#include <gloo/transport/tcp/device.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/compare/loop.h"

namespace {

using compare::Call;
using compare::Op;

constexpr uint64_t kSlot = 1 << 20;  // differs from the slots of the collectives

/// Keeps objects for a series of equal calls: Gloo's options, buffers and algorithms.
class Gloo final : public compare::Library {
 public:
  Gloo(compare::Control& control, const std::string& folder, const compare::LoopOptions& options)
      : mode_(options.mode.empty() ? "ring" : options.mode) {
    gloo::transport::tcp::attr where;
    where.iface = options.interface.empty() ? "lo" : options.interface;
    gloo::rendezvous::FileStore store(folder);
    auto context = std::make_shared<gloo::rendezvous::Context>(control.rank(), control.ranks());
    auto device = gloo::transport::tcp::CreateDevice(where);
    context->connectFullMesh(store, device);
    context_ = context;
    control.barrier();
  }

  bool does(Op op) const override { return mode_ == "ring" || op == Op::all_reduce; }
  float* allocate(size_t bytes) override { return compare::allocate_ordinary(bytes); }
  void release(float* memory) override { std::free(memory); }
  void run(const Call&) override { run_(); }
  void prepare(const Call& call) override {
    run_ = nullptr;
    switch (call.op) {
      case Op::all_reduce: return prepare_all_reduce(call);
      case Op::reduce_scatter: return prepare_reduce_scatter(call);
      case Op::scatter: return prepare_scatter(call);
      case Op::sendrecv: return prepare_sendrecv(call);
      default: return prepare_rooted_or_gathering(call);
    }
  }

 private:
  size_t all(const Call& call) const { return call.count * static_cast<size_t>(context_->size); }
  static float* mutable_input(const Call& call) { return const_cast<float*>(call.input); }

  void prepare_all_reduce(const Call& call) {
    if (mode_ == "halving_doubling") {
      // The algorithm works in place, so copy the input first.
      auto algorithm = std::make_shared<gloo::AllreduceHalvingDoubling<float>>(
          context_, std::vector<float*>{call.output}, static_cast<int>(call.count));
      run_ = [algorithm, call] {
        std::memcpy(call.output, call.input, call.count * sizeof(float));
        algorithm->run();
      };
      return;
    }
    using LoopOptions = gloo::AllreduceOptions;
    auto options = std::make_shared<LoopOptions>(context_);
    options->setAlgorithm(mode_ == "ring" ? LoopOptions::Algorithm::RING : LoopOptions::Algorithm::BCUBE);
    options->setInput(mutable_input(call), call.count);
    options->setOutput(call.output, call.count);
    options->setReduceFunction(
        static_cast<void (*)(void*, const void*, const void*, size_t)>(&gloo::sum<float>));
    run_ = [options] { gloo::allreduce(*options); };
  }

  void prepare_reduce_scatter(const Call& call) {
    // The operation works in place on a copy of the input; afterwards this rank's part is at its beginning.
    auto work = std::make_shared<std::vector<float>>(all(call));
    const std::vector<int> counts(static_cast<size_t>(context_->size), static_cast<int>(call.count));
    auto algorithm = std::make_shared<gloo::ReduceScatterHalvingDoubling<float>>(
        context_, std::vector<float*>{work->data()}, static_cast<int>(all(call)), counts);
    run_ = [algorithm, work, call] {
      std::memcpy(work->data(), call.input, work->size() * sizeof(float));
      algorithm->run();
      std::memcpy(call.output, work->data(), call.count * sizeof(float));
    };
  }

  void prepare_scatter(const Call& call) {
    auto options = std::make_shared<gloo::ScatterOptions>(context_);
    if (context_->rank == 0) {
      std::vector<float*> parts;
      for (int i = 0; i < context_->size; ++i)
        parts.push_back(mutable_input(call) + static_cast<size_t>(i) * call.count);
      options->setInputs(parts, call.count);
    }
    options->setOutput(call.output, call.count);
    options->setRoot(0);
    run_ = [options] { gloo::scatter(*options); };
  }

  void prepare_sendrecv(const Call& call) {
    const size_t bytes = call.count * sizeof(float);
    std::shared_ptr<gloo::transport::UnboundBuffer> in =
        context_->createUnboundBuffer(mutable_input(call), bytes);
    std::shared_ptr<gloo::transport::UnboundBuffer> out = context_->createUnboundBuffer(call.output, bytes);
    const int next = (context_->rank + 1) % context_->size;
    const int last = (context_->rank + context_->size - 1) % context_->size;
    run_ = [in, out, next, last] {
      out->recv(last, kSlot);
      in->send(next, kSlot);
      in->waitSend();
      out->waitRecv();
    };
  }

  void prepare_rooted_or_gathering(const Call& call) {
    const bool root = context_->rank == 0;
    if (call.op == Op::all_gather) {
      auto options = std::make_shared<gloo::AllgatherOptions>(context_);
      options->setInput(mutable_input(call), call.count);
      options->setOutput(call.output, all(call));
      run_ = [options] { gloo::allgather(*options); };
    } else if (call.op == Op::all_to_all) {
      auto options = std::make_shared<gloo::AlltoallOptions>(context_);
      options->setInput(mutable_input(call), all(call));
      options->setOutput(call.output, all(call));
      run_ = [options] { gloo::alltoall(*options); };
    } else if (call.op == Op::gather) {
      auto options = std::make_shared<gloo::GatherOptions>(context_);
      options->setInput(mutable_input(call), call.count);
      if (root) options->setOutput(call.output, all(call));
      options->setRoot(0);
      run_ = [options] { gloo::gather(*options); };
    } else if (call.op == Op::broadcast) {
      auto options = std::make_shared<gloo::BroadcastOptions>(context_);
      options->setOutput(root ? mutable_input(call) : call.output, call.count);
      options->setRoot(0);
      run_ = [options] { gloo::broadcast(*options); };
    } else {
      auto options = std::make_shared<gloo::ReduceOptions>(context_);
      options->setInput(mutable_input(call), call.count);
      options->setOutput(call.output, call.count);
      options->setRoot(0);
      options->setReduceFunction(
          static_cast<void (*)(void*, const void*, const void*, size_t)>(&gloo::sum<float>));
      run_ = [options] { gloo::reduce(*options); };
    }
  }

  std::string mode_;
  std::shared_ptr<gloo::Context> context_;
  std::function<void()> run_;
};

/// A folder for the rendezvous, the same on all ranks.
std::string meeting_folder(compare::Control& control) {
  char folder[compare::Control::kNoteBytes] = {};
  if (control.rank() == 0) {
    const std::string name = (std::filesystem::temp_directory_path() / "weir-compare-XXXXXX").string();
    name.copy(folder, sizeof(folder) - 1);
    if (mkdtemp(folder) == nullptr) {
      std::perror("compare: cannot create a folder for the rendezvous");
      _exit(1);
    }
  }
  control.share(folder, sizeof(folder));
  return folder;
}

int run_rank(compare::Control& control, const std::string& folder, const compare::LoopOptions& options) {
  try {
    Gloo library(control, folder, options);
    return compare::run_loop(library, control, options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "compare: gloo, rank %d: %s\n", control.rank(), error.what());
    return 1;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const compare::LoopOptions options = compare::parse(argc, argv);
  compare::Control control = compare::begin(options);
  const std::string folder = meeting_folder(control);
  const int code = compare::end(options, control, run_rank(control, folder, options));
  std::error_code ignored;
  if (control.rank() == 0) std::filesystem::remove_all(folder, ignored);
  return code;
}
