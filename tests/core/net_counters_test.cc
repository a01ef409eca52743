// SPDX-License-Identifier: Apache-2.0
// What communicators say of their networks, also while operations are under way.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "src/core/communicator/communicator.h"
#include "src/core/communicator/runtime.h"
#include "src/device/host_stream.h"

namespace weir::core {
namespace {

using ::testing::HasSubstr;

constexpr int kCountedRanks = 3;
constexpr size_t kCount = size_t{100} << 10;

Options options(const std::string& transports, int64_t credit_bytes) {
  Options options;
  options.transports = transports;
  options.calibration = false;
  options.credit_bytes = credit_bytes;
  return options;
}

/// Ranks of one process, a thread each, and what `act` does there once they have met.
void with_ranks(const Options& options, const std::function<void(Communicator&)>& act) {
  Runtime runtime(options);
  const auto id = runtime.make_unique_id();
  ASSERT_TRUE(id.ok());
  std::vector<std::thread> threads;
  for (Rank rank = 0; rank < kCountedRanks; ++rank) {
    threads.emplace_back([&, rank] {
      Communicator communicator(runtime, IdOrigin{*id, kCountedRanks, rank}, {});
      EXPECT_THAT(communicator.net_counters().status().message(), HasSubstr("was not connected"));
      const Status met = communicator.connect();
      ASSERT_TRUE(met.ok()) << met.message();
      act(communicator);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

/// One round of blocks from rank to rank.
void gather(Communicator& communicator, device::HostStream* stream, int times) {
  const std::vector<uint8_t> input(kCount, static_cast<uint8_t>(communicator.rank() + 1));
  std::vector<uint8_t> output(kCountedRanks * kCount);
  const Operation operation = CollectiveOp{.kind = Collective::all_gather,
                                           .type = DataType::uint8,
                                           .input = input.data(),
                                           .output = output.data(),
                                           .count = kCount};
  for (int i = 0; i < times; ++i) ASSERT_TRUE(communicator.run({&operation, 1}, StreamPlace{stream}).ok());
  if (stream != nullptr) {
    ASSERT_TRUE(stream->synchronize().ok());
  }
  for (size_t rank = 0; rank < kCountedRanks; ++rank) EXPECT_EQ(output[rank * kCount], rank + 1);
}

TEST(CommunicatorNetCounters, AreExactAfterAnOperation) {
  std::atomic<uint64_t> sent{0};
  with_ranks(options("tcp", 0), [&](Communicator& communicator) {
    EXPECT_EQ(communicator.net_counters()->sent_bytes, 0u);
    gather(communicator, nullptr, 2);
    const NetCounters counted = *communicator.net_counters();
    EXPECT_EQ(counted.received_bytes, 2 * (kCountedRanks - 1) * kCount) << "each block of others once";
    EXPECT_EQ(counted.grants, 0u);
    sent += counted.sent_bytes;
  });
  EXPECT_EQ(sent, 2 * kCountedRanks * (kCountedRanks - 1) * kCount);
}

TEST(CommunicatorNetCounters, MemoryIsNoNetwork) {
  with_ranks(options("loop", 0), [&](Communicator& communicator) {
    gather(communicator, nullptr, 2);
    EXPECT_EQ(communicator.net_counters()->sent_messages, 0u);
  });
}

TEST(CommunicatorNetCounters, MayBeAskedWhileOperationsAreUnderWay) {
  with_ranks(options("tcp", 16 << 10), [&](Communicator& communicator) {
    std::atomic<bool> done{false};
    std::thread asker([&] {
      uint64_t last = 0;
      while (!done) {
        const auto counted = communicator.net_counters();
        ASSERT_TRUE(counted.ok());
        EXPECT_GE(counted->received_bytes, last);
        last = counted->received_bytes;
        std::this_thread::yield();
      }
    });
    const auto stream = std::move(*device::HostStream::create());
    gather(communicator, stream.get(), 10);
    gather(communicator, nullptr, 10);
    done = true;
    asker.join();
    const NetCounters counted = *communicator.net_counters();
    EXPECT_EQ(counted.received_bytes, 20 * (kCountedRanks - 1) * kCount);
    EXPECT_GT(counted.grants, 0u) << "a message is larger than what may come unasked";
  });
}

}  // namespace
}  // namespace weir::core
