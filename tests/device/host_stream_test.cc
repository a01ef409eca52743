// SPDX-License-Identifier: Apache-2.0

#include "src/device/host_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <future>
#include <thread>
#include <vector>

#include "src/device/live_set.h"
#include "tests/device/process_state.h"

namespace weir::device {
namespace {

using ::testing::HasSubstr;
using weir::testing::open_descriptors;

std::unique_ptr<HostStream> make_stream() { return std::move(HostStream::create().value()); }

/// A task that blocks a stream until it is opened.
class Gate {
 public:
  OnceFunction task() {
    return [this] {
      entered_.set_value();
      opened_.get_future().wait();
      return Status();
    };
  }
  void wait_entered() { entered_.get_future().wait(); }
  void open() { opened_.set_value(); }

 private:
  std::promise<void> entered_;
  std::promise<void> opened_;
};

TEST(OnceFunction, HoldsSmallAndLargeFunctions) {
  int calls = 0;
  OnceFunction small([&calls] {
    ++calls;
    return Status();
  });
  std::array<char, 500> large_capture{};
  large_capture[499] = 7;
  OnceFunction large([&calls, large_capture] {
    calls += large_capture[499];
    return Status(Code::internal_error, "seven");
  });
  OnceFunction moved = std::move(small);
  EXPECT_FALSE(static_cast<bool>(small));  // NOLINT(bugprone-use-after-move)
  EXPECT_TRUE(moved().ok());
  moved = std::move(large);
  EXPECT_EQ(moved().message(), "seven");
  EXPECT_EQ(calls, 8);
}

TEST(OnceFunction, DestroysWhatItCaptured) {
  auto counted = std::make_shared<int>(1);
  std::array<char, 500> padding{};
  {
    OnceFunction small([counted] { return Status(); });
    OnceFunction large([counted, padding] { return Status(Code::success, std::string(1, padding[0])); });
    OnceFunction other = std::move(small);
    small = std::move(large);
    EXPECT_EQ(counted.use_count(), 3);
    other.reset();
    EXPECT_EQ(counted.use_count(), 2);
  }
  EXPECT_EQ(counted.use_count(), 1);
  OnceFunction movable_only([owned = std::make_unique<int>(3)] {
    return *owned == 3 ? Status() : Status(Code::internal_error, "");
  });
  EXPECT_TRUE(movable_only().ok());
}

TEST(HostStream, RunsTasksInOrder) {
  const auto stream = make_stream();
  std::vector<int> order;
  for (int i = 0; i < 1000; ++i) {
    stream->submit([&order, i] {
      order.push_back(i);
      return Status();
    });
  }
  EXPECT_TRUE(stream->synchronize().ok());
  ASSERT_EQ(order.size(), 1000u);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(order[static_cast<size_t>(i)], i);
}

TEST(HostStream, SubmitDoesNotWait) {
  const auto stream = make_stream();
  Gate gate;
  stream->submit(gate.task());
  gate.wait_entered();
  std::atomic<int> ran{0};
  for (int i = 0; i < 100; ++i) {
    stream->submit([&ran] {
      ++ran;
      return Status();
    });
  }
  EXPECT_EQ(ran.load(), 0);
  EXPECT_EQ(stream->query().code(), Code::in_progress);
  gate.open();
  EXPECT_TRUE(stream->synchronize().ok());
  EXPECT_EQ(ran.load(), 100);
  EXPECT_TRUE(stream->query().ok());
}

TEST(HostStream, KeepsTheFirstErrorAndGoesOn) {
  const auto stream = make_stream();
  bool after = false;
  stream->submit([] { return Status(Code::remote_error, "first"); });
  stream->submit([] { return Status(Code::internal_error, "second"); });
  stream->submit([&after] {
    after = true;
    return Status();
  });
  const Status status = stream->synchronize();
  EXPECT_EQ(status.code(), Code::remote_error);
  EXPECT_EQ(status.message(), "first");
  EXPECT_TRUE(after);
  EXPECT_EQ(stream->query().message(), "first");
}

TEST(HostStream, SynchronizeDoesNotWaitForLaterTasks) {
  bool returned = false;
  for (int attempt = 0; attempt < 5 && !returned; ++attempt) {  // a waiter that starts late waits for both
    Gate first;
    Gate second;
    const auto stream = make_stream();
    std::atomic<bool> done{false};
    stream->submit(first.task());
    std::thread waiter([&] {
      EXPECT_TRUE(stream->synchronize().ok());
      done = true;
    });
    first.wait_entered();
    std::this_thread::sleep_for(std::chrono::milliseconds(20 << attempt));
    stream->submit(second.task());
    first.open();
    second.wait_entered();
    for (int look = 0; look < 500 && !done; ++look) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    returned = done;
    second.open();
    waiter.join();
  }
  EXPECT_TRUE(returned);
}

TEST(HostStream, DestructionWaits) {
  std::atomic<int> ran{0};
  {
    const auto stream = make_stream();
    for (int i = 0; i < 50; ++i) {
      stream->submit([&ran] {
        std::this_thread::yield();
        ++ran;
        return Status();
      });
    }
  }
  EXPECT_EQ(ran.load(), 50);
}

TEST(HostStream, WaitingForItselfIsRefused) {
  const auto stream = make_stream();
  Status inside;
  stream->submit([&] {
    inside = stream->synchronize();
    return Status();
  });
  EXPECT_TRUE(stream->synchronize().ok());
  EXPECT_EQ(inside.code(), Code::invalid_usage);
}

TEST(HostStream, SubmittersOnManyThreads) {
  const auto stream = make_stream();
  int sum = 0;  // tasks of one stream never run at the same time
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        stream->submit([&sum] {
          ++sum;
          return Status();
        });
      }
      EXPECT_TRUE(stream->synchronize().ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sum, 2000);
}

TEST(HostStream, ManyStreamsLeaveNothing) {
  const size_t descriptors = open_descriptors();
  for (int i = 0; i < 300; ++i) {
    const auto stream = make_stream();
    stream->submit([] { return Status(); });
  }
  EXPECT_EQ(open_descriptors(), descriptors);
}

TEST(HostEvent, MarksAPlaceInAStream) {
  const auto stream = make_stream();
  HostEvent event;
  EXPECT_TRUE(event.query().ok()) << "nothing recorded";
  event.synchronize();
  Gate gate;
  stream->submit(gate.task());
  event.record(stream.get());
  EXPECT_EQ(event.query().code(), Code::in_progress);
  gate.open();
  event.synchronize();
  EXPECT_TRUE(event.query().ok());
}

TEST(HostEvent, HoldsAnotherStream) {
  const auto first = make_stream();
  const auto second = make_stream();
  Gate gate;
  HostEvent event;
  std::atomic<bool> ahead{false};
  first->submit(gate.task());
  event.record(first.get());
  event.hold(second.get());
  second->submit([&ahead] {
    ahead = true;
    return Status();
  });
  gate.wait_entered();
  EXPECT_EQ(second->query().code(), Code::in_progress);
  EXPECT_FALSE(ahead.load());
  gate.open();
  EXPECT_TRUE(second->synchronize().ok());
  EXPECT_TRUE(ahead.load());
  event.hold(nullptr);  // reached long ago
}

TEST(HostEvent, RecordingAgainDoesNotMoveThoseWhoWait) {
  const auto slow = make_stream();
  const auto other = make_stream();
  const auto waiting = make_stream();
  Gate gate;
  HostEvent event;
  slow->submit(gate.task());
  event.record(slow.get());
  event.hold(waiting.get());
  event.record(other.get());
  event.synchronize();  // waits for the new mark
  EXPECT_EQ(waiting->query().code(), Code::in_progress) << "still held by the old mark";
  gate.open();
  EXPECT_TRUE(waiting->synchronize().ok());
}

TEST(HostEvent, OutlivedByItsMark) {
  const auto first = make_stream();
  const auto second = make_stream();
  Gate gate;
  {
    HostEvent event;
    first->submit(gate.task());
    event.record(first.get());
    event.hold(second.get());
  }
  gate.open();
  EXPECT_TRUE(second->synchronize().ok());
}

TEST(HostEvent, ElapsedTime) {
  const auto stream = make_stream();
  HostEvent start;
  HostEvent stop;
  EXPECT_EQ(HostEvent::elapsed_ms(start, stop).status().code(), Code::invalid_usage);
  start.record(nullptr);
  Gate gate;
  stream->submit(gate.task());
  stop.record(stream.get());
  EXPECT_EQ(HostEvent::elapsed_ms(start, stop).status().code(), Code::in_progress);
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  gate.open();
  stop.synchronize();
  EXPECT_GE(HostEvent::elapsed_ms(start, stop).value(), 2.0f);
  EXPECT_LE(HostEvent::elapsed_ms(stop, start).value(), -2.0f);
}

TEST(LiveSet, TellsItsOwnFromAnythingElse) {
  LiveSet<int> set;
  int* const handle = set.add(std::make_shared<int>(4));
  EXPECT_EQ(*set.find(handle), 4);
  EXPECT_EQ(set.find(nullptr), nullptr);
  EXPECT_EQ(set.find(reinterpret_cast<void*>(0x1234)), nullptr);
  EXPECT_EQ(set.find(&set), nullptr);
  const auto kept = set.find(handle);
  EXPECT_EQ(*set.remove(handle), 4);
  EXPECT_EQ(set.remove(handle), nullptr);
  EXPECT_EQ(set.find(handle), nullptr);
  EXPECT_EQ(*kept, 4);
}

}  // namespace
}  // namespace weir::device
