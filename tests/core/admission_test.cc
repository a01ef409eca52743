// SPDX-License-Identifier: Apache-2.0
// How much a caller may queue ahead on streams.
#include "src/core/call/admission.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "src/core/communicator/communicator.h"
#include "src/core/communicator/runtime.h"
#include "src/device/host_stream.h"

namespace weir::core {
namespace {

constexpr int kCalls = 8;
constexpr size_t kBytesPerRank = 64;

void nap() { std::this_thread::sleep_for(std::chrono::milliseconds(50)); }

/// A thread that enters loads of 10 bytes one after the other.
class Caller {
 public:
  Caller(Admission& admission, int calls)
      : thread_([this, &admission, calls] {
          for (int i = 0; i < calls; ++i) {
            admission.enter({10, 1});
            ++entered_;
          }
        }) {}
  ~Caller() { thread_.join(); }
  /// Once it has come so far, and a while after.
  int entered(int least) const {
    while (entered_ < least) std::this_thread::yield();
    nap();
    return entered_;
  }

 private:
  std::atomic<int> entered_{0};
  std::thread thread_;
};

/// Until somebody has had to wait so many times.
void await_waits(const Admission& admission, size_t least) {
  while (admission.counters().waits < least) std::this_thread::yield();
}

TEST(Admission, TheWindowSlides) {
  Admission admission({.bytes = 0, .operations = 3});
  const Caller caller(admission, 5);
  EXPECT_EQ(caller.entered(3), 3);
  await_waits(admission, 1);
  admission.leave({10, 1});
  EXPECT_EQ(caller.entered(4), 4);
  await_waits(admission, 2);
  admission.leave({10, 1});
  EXPECT_EQ(caller.entered(5), 5);
  EXPECT_EQ(admission.counters().waits, 2U);
  EXPECT_EQ(admission.counters().most_operations, 3U);
}

TEST(Admission, OrItIsFlushed) {
  Admission admission({.bytes = 0, .operations = 3, .flushes = true});
  const Caller caller(admission, 5);
  EXPECT_EQ(caller.entered(3), 3);
  await_waits(admission, 1);
  admission.leave({10, 1});
  admission.leave({10, 1});
  EXPECT_EQ(caller.entered(3), 3);
  admission.leave({10, 1});
  EXPECT_EQ(caller.entered(5), 5);
  EXPECT_EQ(admission.counters().waits, 1U);
}

TEST(Admission, BytesCountToo) {
  Admission admission({.bytes = 25, .operations = 0});
  const Caller caller(admission, 3);
  EXPECT_EQ(caller.entered(2), 2);
  admission.leave({10, 1});
  EXPECT_EQ(caller.entered(3), 3);
  EXPECT_EQ(admission.counters().most_bytes, 20U);
}

TEST(Admission, OneMayAlwaysGo) {
  Admission admission({.bytes = 5, .operations = 1});
  admission.enter({10, 4});  // would wait for ever
  EXPECT_EQ(admission.counters().waits, 0U);
}

TEST(Admission, AbortLetsEverybodyIn) {
  Admission admission({.bytes = 0, .operations = 1, .flushes = true});
  const Caller caller(admission, 4);
  EXPECT_EQ(caller.entered(1), 1);
  admission.abort();
  EXPECT_EQ(caller.entered(4), 4);
}

TEST(Admission, CountsTheLargerBuffer) {
  const Operation operations[] = {CollectiveOp{.kind = Collective::all_gather, .count = 3},
                                  CollectiveOp{.kind = Collective::all_reduce, .count = 3}};
  const Admission::Load load = load_of(operations, 4);
  EXPECT_EQ(load.bytes, 3U * 4 * 4 + 3 * 4);
  EXPECT_EQ(load.operations, 2U);
}

/// One of two ranks that queue all-gathers.
struct Queueing {
  Queueing(Runtime& runtime, const UniqueId& id, Rank rank)
      : communicator(runtime, IdOrigin{id, 2, rank}, {}), stream(std::move(*device::HostStream::create())) {
    thread = std::thread([this] {
      if (!communicator.connect().ok()) return;
      connected = true;
      while (!may_call) std::this_thread::yield();
      for (auto& output : outputs) {
        const Operation operation = CollectiveOp{.kind = Collective::all_gather,
                                                 .type = DataType::uint8,
                                                 .input = input.data(),
                                                 .output = output.data(),
                                                 .count = kBytesPerRank};
        if (communicator.run({&operation, 1}, StreamPlace{stream.get()}).ok()) ++called;
      }
      done = stream->synchronize();
    });
  }

  Communicator communicator;
  std::unique_ptr<device::HostStream> stream;
  std::vector<uint8_t> input =
      std::vector<uint8_t>(kBytesPerRank, static_cast<uint8_t>(communicator.rank() + 1));
  std::vector<std::vector<uint8_t>> outputs{kCalls, std::vector<uint8_t>(2 * kBytesPerRank)};
  std::atomic<bool> connected{false}, may_call{false};
  std::atomic<int> called{0};
  Status done{Code::internal_error, "not yet"};
  std::thread thread;
};

TEST(Admission, CallsOnAStreamWait) {
  Options options;
  options.transports = "loop";
  options.calibration = false;
  options.admitted_operations = 3;
  Runtime runtime(options);
  const auto id = runtime.make_unique_id();
  ASSERT_TRUE(id.ok());
  Queueing first(runtime, *id, 0), second(runtime, *id, 1);
  while (!first.connected || !second.connected) std::this_thread::yield();
  first.may_call = true;
  while (first.called < 3) std::this_thread::yield();
  nap();
  EXPECT_EQ(first.called, 3) << "the other rank has not called yet, so nothing can be done";
  second.may_call = true;
  first.thread.join();
  second.thread.join();
  EXPECT_EQ(first.done.message() + second.done.message(), "");
  std::vector<uint8_t> expected(kBytesPerRank, 1);
  expected.insert(expected.end(), kBytesPerRank, 2);
  for (const Queueing* rank : {&first, &second}) {
    EXPECT_EQ(rank->called, kCalls);
    for (const auto& output : rank->outputs) EXPECT_EQ(output, expected);
  }
}

TEST(Admission, AnAbortedCallerGoesOn) {
  Options options;
  options.transports = "loop";
  options.calibration = false;
  options.admitted_bytes = 2 * kBytesPerRank;
  Runtime runtime(options);
  const auto id = runtime.make_unique_id();
  ASSERT_TRUE(id.ok());
  Queueing first(runtime, *id, 0), second(runtime, *id, 1);
  while (!first.connected || !second.connected) std::this_thread::yield();
  first.may_call = true;
  while (first.called < 1) std::this_thread::yield();
  first.communicator.abort();
  first.thread.join();
  EXPECT_EQ(first.done.code(), Code::invalid_usage);
  second.communicator.abort();
  second.may_call = true;
  second.thread.join();
}

}  // namespace
}  // namespace weir::core
