// SPDX-License-Identifier: Apache-2.0

#include "src/exec/lane.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/algorithms/some_layout.h"
#include "tests/exec/island.h"
#include "tests/exec/oracle.h"

namespace weir::exec {
namespace {

using ::testing::HasSubstr;

/// Runs the programs of all ranks on `count` elements per block and compares with the oracle.
template <typename T>
void run_and_compare(Bound& bound, const ir::Shape& shape, DataType type, size_t count,
                     const std::string& what, size_t tile_bytes = SIZE_MAX) {
  std::vector<std::vector<T>> in, out, want;
  std::vector<Work> works(shape.ranks);
  std::vector<Task*> tasks;
  for (Rank rank = 0; rank < shape.ranks; ++rank) {
    in.push_back(inputs<T>(shape, rank, count));
    want.push_back(outputs<T>(shape, rank, count));
    out.emplace_back(want.back().size());
  }
  for (Rank rank = 0; rank < shape.ranks; ++rank) {
    Work& work = works[rank];
    work.input = reinterpret_cast<const std::byte*>(in[rank].data());
    work.output = reinterpret_cast<std::byte*>(out[rank].data());
    work.count = count;
    work.type = type;
    work.tag = 1;
    work.tile_bytes = tile_bytes;
    bound.run(rank).start(work);
    tasks.push_back(&bound.run(rank));
  }
  const Status status = finish(tasks);
  ASSERT_TRUE(status.ok()) << what << ": " << status.message();
  for (Rank rank = 0; rank < shape.ranks; ++rank)
    ASSERT_EQ(out[rank], want[rank]) << what << " rank " << rank;
}

TEST(Run, EveryAlgorithmGivesTheRightNumbers) {
  for (const algorithms::Entry& entry : algorithms::catalogue()) {
    for (const int ranks : {1, 2, 3, 4, 5, 8, 13}) {
      const algorithms::Layout layout = algorithms::some_layout(ranks);
      ir::Shape shape{entry.kind, ranks, 0, algorithms::default_chunks(entry, ranks, layout)};
      if (has_root(entry.kind)) shape.root = ranks - 1;
      auto plan = algorithms::emit(entry.algorithm, shape, layout);
      ASSERT_TRUE(plan.ok());
      Island island(ranks);
      Bound bound(island, lower_all(*plan));
      for (const size_t count : {1u, 7u, 100u, 5000u}) {
        const std::string what = label(entry, ranks) + " count " + std::to_string(count);
        run_and_compare<int32_t>(bound, shape, DataType::int32, count, what);
        run_and_compare<uint8_t>(bound, shape, DataType::uint8, count, what);
        run_and_compare<double>(bound, shape, DataType::float64, count, what);
        if (HasFatalFailure()) return;
      }
    }
  }
}

/// The same run in small tiles, then in large ones, then in small ones again.
TEST(Run, TilesMayBeSmallerThanMessages) {
  for (const algorithms::Entry& entry : algorithms::catalogue()) {
    const int ranks = 5;
    const algorithms::Layout layout = algorithms::some_layout(ranks);
    const ir::Shape shape{entry.kind, ranks, 0, algorithms::default_chunks(entry, ranks, layout)};
    const auto plan = algorithms::emit(entry.algorithm, shape, layout);
    ASSERT_TRUE(plan.ok());
    Island island(ranks);
    Bound bound(island, lower_all(*plan));
    for (const size_t count : {100u, 5000u}) {
      for (const size_t tile : {size_t{128}, SIZE_MAX, size_t{64}}) {
        const std::string what = fmt::format("{} count {} tile {}", label(entry, ranks), count, tile);
        run_and_compare<int32_t>(bound, shape, DataType::int32, count, what, tile);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(Run, DividesIntegersOnceAndScalesFloatsFirst) {
  const ir::Shape shape{Collective::all_reduce, 3, 0, 3};
  Island island(3);
  Bound bound(island, lower_all(*algorithms::emit("ring", shape)));
  std::vector<int32_t> in{-7, 0, 8, 9}, out[3];
  std::vector<Work> works(3);
  std::vector<Task*> tasks;
  for (Rank rank = 0; rank < 3; ++rank) {
    out[rank].resize(in.size());
    Work& work = works[rank];
    work.input = reinterpret_cast<const std::byte*>(in.data());
    work.output = reinterpret_cast<std::byte*>(out[rank].data());
    work.count = in.size();
    work.type = DataType::int32;
    work.divisor = 2;
    bound.run(rank).start(work);
    tasks.push_back(&bound.run(rank));
  }
  ASSERT_TRUE(finish(tasks).ok());
  for (const auto& got : out)
    EXPECT_THAT(got, ::testing::ElementsAre(-10, 0, 12, 13));  // 3x / 2, towards zero
}

TEST(Run, RefusesAMessageOfAnotherOperation) {
  const ir::Shape shape{Collective::broadcast, 2, 0, 1};
  Island island(2);
  Bound bound(island, lower_all(*algorithms::emit("ring", shape)));
  std::vector<std::byte> data(8);
  Work work;
  work.input = work.output = data.data();
  work.count = 2;
  work.tag = uint64_t{5} << 32;
  Work other = work;
  other.tag = uint64_t{6} << 32;
  bound.run(0).start(work);
  bound.run(1).start(other);
  Task* tasks[] = {&bound.run(0), &bound.run(1)};
  EXPECT_THAT(finish(tasks).message(), HasSubstr("operation #5"));
}

/// A channel end that never receives a message.
struct DeadSender final : Sender {
  explicit DeadSender(Status what) : trouble(std::move(what)) {}
  Result<bool> ready() override { return true; }
  std::byte* acquire() override { return nullptr; }
  void publish(uint64_t, uint32_t, const Payload&) override {}
  Status progress() override { return trouble; }
  bool flushed() const override { return true; }
  const Status trouble;
};
struct DeadReceiver final : Receiver {
  explicit DeadReceiver(Status what) : trouble(std::move(what)) {}
  Result<bool> ready() override { return true; }
  const Message* peek() override { return nullptr; }
  void release() override {}
  Status progress() override { return trouble; }
  const Status trouble;
};

/// Accepts any message and records its size.
struct CountingSender final : Sender {
  Result<bool> ready() override { return true; }
  std::byte* acquire() override { return slot.data(); }
  void publish(uint64_t, uint32_t bytes, const Payload&) override { lengths.push_back(bytes); }
  Status progress() override { return {}; }
  bool flushed() const override { return true; }
  std::vector<std::byte> slot = std::vector<std::byte>(512);
  std::vector<uint32_t> lengths;
};

TEST(Run, PassesGetAsFarAsTheWorkSaysAndThereIsRoom) {
  const auto program = lower(*algorithms::emit("ring", {Collective::broadcast, 2, 0, 1}), 0);
  ASSERT_TRUE(program.ok());
  ASSERT_EQ(program->channels.size(), 1u);
  CountingSender sender;
  Binding binding;
  binding.senders = {&sender};
  binding.receivers = {nullptr};
  binding.tile_bytes = 512;
  exec::Run run(*program, std::move(binding));
  std::vector<std::byte> data(1000);
  Work work;
  work.input = work.output = data.data();
  work.count = data.size();
  work.type = DataType::int8;
  const auto lengths = [&](size_t tile_bytes) {
    work.tile_bytes = tile_bytes;
    sender.lengths.clear();
    run.start(work);
    EXPECT_EQ(run.advance(), Progress::done);
    return sender.lengths;
  };
  EXPECT_THAT(lengths(SIZE_MAX), ::testing::ElementsAre(512, 488));
  EXPECT_THAT(lengths(256), ::testing::ElementsAre(256, 256, 256, 232));
  EXPECT_THAT(lengths(1024), ::testing::ElementsAre(512, 488));
}

TEST(Run, TellsWhoseChannelIsBroken) {
  auto plan = algorithms::emit("pairwise", {Collective::all_to_all, 4, 0, 1});
  ASSERT_TRUE(plan.ok());
  const auto program = lower(*plan, 1);
  ASSERT_TRUE(program.ok());
  for (size_t broken = 0; broken < program->channels.size(); ++broken) {
    std::vector<std::unique_ptr<DeadSender>> senders;
    std::vector<std::unique_ptr<DeadReceiver>> receivers;
    Binding binding;
    binding.tile_bytes = 64;
    for (size_t i = 0; i < program->channels.size(); ++i) {
      const Status what = i == broken ? Status(Code::remote_error, "cut") : Status();
      const bool sends = program->channels[i].outgoing;
      if (sends) senders.push_back(std::make_unique<DeadSender>(what));
      if (!sends) receivers.push_back(std::make_unique<DeadReceiver>(what));
      binding.senders.push_back(sends ? senders.back().get() : nullptr);
      binding.receivers.push_back(sends ? nullptr : receivers.back().get());
    }
    exec::Run run(*program, std::move(binding));
    Rank peer = -1;
    EXPECT_EQ(run.serve(peer).code(), Code::remote_error);
    EXPECT_EQ(peer, program->channels[broken].peer);
  }
}

}  // namespace
}  // namespace weir::exec
