// SPDX-License-Identifier: Apache-2.0

#include "src/core/call/operation.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "src/core/call/operation_summary.h"
#include "src/core/call/signature.h"

namespace weir::core {
namespace {

int source = 0;
int target = 0;

/// One of each alternative.
std::vector<Operation> one_of_each() {
  return {CollectiveOp{.kind = Collective::broadcast,
                       .root = 3,
                       .type = DataType::int32,
                       .input = &source,
                       .output = &target,
                       .count = 2},
          SendOp{.input = &source, .count = 5, .type = DataType::int8, .peer = 1},
          RecvOp{.output = &target, .count = 6, .type = DataType::float64, .peer = 2},
          PutOp{.input = &source, .count = 7, .peer = 4, .window = 1, .offset = 8, .index = 2, .context = 9},
          SignalOp{.peer = 5, .index = 1, .context = 1},
          WaitOp{std::make_shared<const std::vector<AwaitedSignals>>(
              std::vector<AwaitedSignals>{{{6, 0, 0}, 2}, {{7, 0, 0}, 1}})}};
}

TEST(Operation, WhatEachAlternativeIs) {
  const std::vector<Operation> all = one_of_each();
  const bool kPairs[] = {false, true, true, false, false, false};
  const size_t kBytes[] = {8, 5, 48, 28, 0, 0};
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(is_pair(all[i]), kPairs[i]) << i;
    EXPECT_EQ(is_point_to_point(all[i]), i > 0) << i;
    EXPECT_EQ(is_one_sided(all[i]), i > 2) << i;
    EXPECT_EQ(kind_of(all[i]), i == 0 ? Collective::broadcast : Collective::send_recv) << i;
    EXPECT_EQ(bytes_of(all[i]), kBytes[i]) << i;
    EXPECT_EQ(input_of(all[i]), i == 0 || i == 1 || i == 3 ? &source : nullptr) << i;
    EXPECT_EQ(output_of(all[i]), i == 0 || i == 2 ? &target : nullptr) << i;
  }
  const Rank kPeers[] = {0, 1, 2, 4, 5, 6};
  for (size_t i = 1; i < all.size(); ++i) EXPECT_EQ(peer_of(all[i]), kPeers[i]) << i;
}

TEST(Operation, ADefaultOneIsACollective) { EXPECT_TRUE(std::holds_alternative<CollectiveOp>(Operation())); }

TEST(OperationSummary, SaysTheCallInTheUsersWords) {
  const char* const kWords[] = {
      "ncclBroadcast(count 2, int32, root 3)", "ncclSend(count 5, int8, peer 1)",
      "ncclRecv(count 6, float64, peer 2)",    "ncclPutSignal(count 7, float32, peer 4)",
      "ncclSignal(count 0, float32, peer 5)",  "ncclWaitSignal(count 0, float32, peer 6)"};
  const std::vector<Operation> all = one_of_each();
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(describe(all[i]), kWords[i]);
  CollectiveOp sum{.kind = Collective::all_reduce, .count = 1};
  EXPECT_EQ(describe(sum), "ncclAllReduce(count 1, float32, sum)");
  sum.reduction.scaling = Reduction::Scaling::average;
  EXPECT_EQ(describe(sum), "ncclAllReduce(count 1, float32, avg)");
  sum.reduction = {.scaling = Reduction::Scaling::premultiply, .factor_at = &source};
  EXPECT_EQ(describe(sum), "ncclAllReduce(count 1, float32, premulsum)");
}

TEST(OperationSummary, ComesBackFromItsTwoWords) {
  for (const Operation& operation : one_of_each()) {
    const OperationSummary summary = summary_of(operation);
    const auto back = unpack(pack(summary), summary.count);
    ASSERT_TRUE(back.has_value()) << describe(operation);
    EXPECT_EQ(back->call, summary.call);
    EXPECT_EQ(back->rank, summary.rank);
    EXPECT_EQ(back->type, summary.type);
    EXPECT_EQ(describe(*back), describe(operation));
    EXPECT_EQ(back->kind(), kind_of(operation));
    EXPECT_EQ(back->bytes(), bytes_of(operation));
  }
}

/// Processes of other versions read the words.
TEST(OperationSummary, TheWordStaysAsItIs) {
  const uint64_t kWords[] = {0x0000000300000202, 0x0000000100000088, 0x0000000200000808,
                             0x0000000410000788, 0x0000000520000788, 0x0000000630000708};
  const std::vector<Operation> all = one_of_each();
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(pack(summary_of(all[i])), kWords[i]) << i;
  const CollectiveOp average{.type = DataType::float16,
                             .reduction = {.op = RedOp::sum, .scaling = Reduction::Scaling::average}};
  EXPECT_EQ(pack(summary_of(average)), 0x0000000001000600u);
}

TEST(OperationSummary, WordsThatNobodyWritesAreRefused) {
  EXPECT_FALSE(unpack(0x09, 1)) << "no kind";
  EXPECT_FALSE(unpack(0x0c00, 1)) << "no type";
  EXPECT_FALSE(unpack(0x040000, 1)) << "no operator";
  EXPECT_FALSE(unpack(0x03000000, 1)) << "no scaling";
  EXPECT_FALSE(unpack(0x40000008, 1)) << "no call";
  EXPECT_FALSE(unpack(0x10000080, 1)) << "a collective is no put";
  EXPECT_FALSE(unpack(0x30000088, 1)) << "a wait sends nothing";
}

TEST(Signature, OfCallsThatBelongTogetherIsTheSame) {
  const CollectiveOp sum{.type = DataType::int32, .input = &source, .output = &target, .count = 4};
  CollectiveOp other = sum;
  other.input = other.output = nullptr;
  other.root = 3;  // has none
  EXPECT_EQ(signature(sum), signature(other));
  other.count = 5;
  EXPECT_NE(signature(sum), signature(other));
  other = sum;
  other.reduction.op = RedOp::max;
  EXPECT_NE(signature(sum), signature(other));
  other.kind = Collective::reduce;
  CollectiveOp elsewhere = other;
  elsewhere.root = 1;
  EXPECT_NE(signature(other), signature(elsewhere));
}

/// Each rank may have its factor where it likes.
TEST(Signature, DoesNotTellWhereAFactorIs) {
  CollectiveOp known{.reduction = {.scaling = Reduction::Scaling::premultiply}, .count = 4};
  CollectiveOp later = known;
  later.reduction.factor_at = &source;
  EXPECT_EQ(signature(known), signature(later));
}

TEST(Reduction, ReadsItsFactorOnce) {
  int factor = 7;
  Reduction reduction{.scaling = Reduction::Scaling::premultiply, .factor_at = &factor};
  reduction.read_factor(DataType::int32);
  EXPECT_EQ(reduction.factor_at, nullptr);
  EXPECT_EQ(reduction.factor.bits[0], 7);
  factor = 8;
  reduction.read_factor(DataType::int32);
  EXPECT_EQ(reduction.factor.bits[0], 7);
}

}  // namespace
}  // namespace weir::core
