// SPDX-License-Identifier: Apache-2.0
// The loop that times all candidates: what it asks for, and that a wrong result does not pass.
#include "bench/compare/loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace compare {
namespace {

using testing::HasSubstr;

/// A world of one rank: every collective copies its input.
class Copier final : public Library {
 public:
  explicit Copier(float error) : error_(error) {}
  bool does(Op op) const override { return op != Op::gather; }
  float* allocate(size_t bytes) override { return allocate_ordinary(bytes); }
  void release(float* memory) override { std::free(memory); }
  void prepare(const Call& call) override { prepared.push_back(call.count); }
  void run(const Call& call) override {
    std::memcpy(call.output, call.input, call.count * sizeof(float));
    call.output[call.count - 1] += error_;
  }

  std::vector<size_t> prepared;

 private:
  float error_;
};

LoopOptions small(std::vector<Op> ops) {
  LoopOptions options;
  options.ops = std::move(ops);
  options.sizes = {4, 256, 4096};
  options.budget_ms = 0.1;
  return options;
}

int run(Copier& library, const LoopOptions& options, std::string& printed) {
  Control control = Control::shared_by_fork(1);
  testing::internal::CaptureStdout();
  const int code = run_loop(library, control, options);
  printed = testing::internal::GetCapturedStdout();
  return code;
}

TEST(Loop, PrintsALineForEverySize) {
  Copier library(0);
  std::string printed;
  EXPECT_EQ(run(library, small({Op::all_reduce}), printed), 0);
  EXPECT_THAT(printed, HasSubstr(R"({"op":"all_reduce","ranks":1,"bytes":256,"median_us":)"));
  EXPECT_EQ(std::count(printed.begin(), printed.end(), '\n'), 3);
  EXPECT_THAT(library.prepared, testing::ElementsAre(1, 64, 1024));
}

TEST(Loop, AWrongElementIsAnError) {
  Copier library(1);
  std::string printed;
  EXPECT_EQ(run(library, small({Op::all_reduce}), printed), 1);
  EXPECT_THAT(printed, HasSubstr(R"("ok":false)"));
}

TEST(Loop, EveryOperationIsChecked) {
  for (const Op op : {Op::all_reduce, Op::all_gather, Op::reduce_scatter, Op::reduce, Op::all_to_all,
                      Op::scatter, Op::sendrecv}) {
    SCOPED_TRACE(name_of(op));
    std::string printed;
    Copier good(0);
    EXPECT_EQ(run(good, small({op}), printed), 0);
    Copier bad(1);
    EXPECT_EQ(run(bad, small({op}), printed), 1);
  }
}

TEST(Loop, LeavesOutWhatTheLibraryDoesNot) {
  Copier library(0);
  std::string printed;
  EXPECT_EQ(run(library, small({Op::gather}), printed), 0);
  EXPECT_EQ(printed, "");
}

TEST(Loop, CountsAsNcclTestsDoes) {
  EXPECT_EQ(count_of(Op::all_reduce, 4096, 4), 1024U);
  EXPECT_EQ(count_of(Op::sendrecv, 4096, 4), 1024U);
  EXPECT_EQ(count_of(Op::all_gather, 4096, 4), 256U);
  EXPECT_EQ(count_of(Op::reduce_scatter, 4096, 4), 256U);
  EXPECT_EQ(count_of(Op::all_to_all, 8, 4), 0U);
}

TEST(Loop, ReadsItsOptions) {
  std::vector<std::string> words = {"program", "--ranks", "4",      "--ops", "gather,sendrecv",
                                    "--sizes", "8,64",    "--mode", "ring"};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  const LoopOptions options = parse(static_cast<int>(arguments.size()), arguments.data());
  EXPECT_EQ(options.ranks, 4);
  EXPECT_EQ(options.mode, "ring");
  EXPECT_THAT(options.ops, testing::ElementsAre(Op::gather, Op::sendrecv));
  EXPECT_THAT(options.sizes, testing::ElementsAre(8, 64));
}

TEST(Control, SharesAndAgrees) {
  Control control = Control::shared_by_fork(3);
  const int rank = fork_ranks(3);
  control.adopt(rank);
  int note = rank == 0 ? 77 : 0;
  control.share(&note, sizeof(note));
  const double most = control.most(rank * 1.5);
  const bool good = note == 77 && most == 3.0;
  if (rank != 0) _exit(good ? 0 : 1);
  EXPECT_TRUE(good);
  EXPECT_EQ(wait_for_ranks(), 0);
}

}  // namespace
}  // namespace compare
