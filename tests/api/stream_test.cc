// SPDX-License-Identifier: Apache-2.0
/// The functions of weir/stream.h, as a caller sees them.
#include "weir/stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "src/api/abi.h"
#include "src/api/stream.h"

namespace {

using ::testing::HasSubstr;

/// Queues something on a stream that takes until `open` is called, as a collective would.
class Hold {
 public:
  explicit Hold(weirStream_t stream) {
    auto host = weir::api::host_stream(stream, "test");
    (*host)->submit([this] {
      while (!open_.load()) std::this_thread::yield();
      return weir::Status();
    });
  }
  void open() { open_ = true; }

 private:
  std::atomic<bool> open_{false};
};

TEST(Stream, NullStreamIsAlwaysDone) {
  EXPECT_EQ(weirStreamSynchronize(nullptr), ncclSuccess);
  EXPECT_EQ(weirStreamQuery(nullptr), ncclSuccess);
  EXPECT_EQ(weirStreamDestroy(nullptr), ncclSuccess);
}

TEST(Stream, TellsBusyFromDone) {
  weirStream_t stream = nullptr;
  ASSERT_EQ(weirStreamCreate(&stream), ncclSuccess);
  EXPECT_EQ(weirStreamQuery(stream), ncclSuccess);
  Hold hold(stream);
  EXPECT_EQ(weirStreamQuery(stream), ncclInProgress);
  hold.open();
  EXPECT_EQ(weirStreamSynchronize(stream), ncclSuccess);
  EXPECT_EQ(weirStreamQuery(stream), ncclSuccess);
  EXPECT_EQ(weirStreamDestroy(stream), ncclSuccess);
}

TEST(Stream, WrongHandlesAreRefusedWithASentence) {
  weirStream_t stream = nullptr;
  ASSERT_EQ(weirStreamCreate(&stream), ncclSuccess);
  ASSERT_EQ(weirStreamDestroy(stream), ncclSuccess);
  EXPECT_EQ(weirStreamDestroy(stream), ncclInvalidArgument);
  EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("weirStreamDestroy"));
  EXPECT_EQ(weirStreamSynchronize(stream), ncclInvalidArgument);
  EXPECT_EQ(weirStreamQuery(reinterpret_cast<weirStream_t>(&stream)), ncclInvalidArgument);
  EXPECT_EQ(weirStreamQuery(reinterpret_cast<weirStream_t>(uintptr_t{0x10})), ncclInvalidArgument);
  EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("weirStreamCreate"));
  EXPECT_EQ(weirStreamCreate(nullptr), ncclInvalidArgument);
  EXPECT_EQ(weirEventCreate(nullptr), ncclInvalidArgument);
  EXPECT_EQ(weirEventQuery(nullptr), ncclInvalidArgument);
  EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("weirEventQuery"));
  EXPECT_EQ(weirEventRecord(nullptr, nullptr), ncclInvalidArgument);
  EXPECT_EQ(weirStreamWaitEvent(nullptr, nullptr), ncclInvalidArgument);
}

TEST(Stream, EventsOrderStreams) {
  weirStream_t first = nullptr;
  weirStream_t second = nullptr;
  weirEvent_t event = nullptr;
  ASSERT_EQ(weirStreamCreate(&first), ncclSuccess);
  ASSERT_EQ(weirStreamCreate(&second), ncclSuccess);
  ASSERT_EQ(weirEventCreate(&event), ncclSuccess);
  Hold hold(first);
  EXPECT_EQ(weirEventRecord(event, first), ncclSuccess);
  EXPECT_EQ(weirStreamWaitEvent(second, event), ncclSuccess);
  EXPECT_EQ(weirEventQuery(event), ncclInProgress);
  EXPECT_EQ(weirStreamQuery(second), ncclInProgress);
  EXPECT_EQ(weirEventDestroy(event), ncclSuccess) << "who waits goes on waiting";
  EXPECT_EQ(weirEventQuery(event), ncclInvalidArgument);
  EXPECT_EQ(weirStreamQuery(second), ncclInProgress);
  hold.open();
  EXPECT_EQ(weirStreamSynchronize(second), ncclSuccess);
  EXPECT_EQ(weirStreamDestroy(first), ncclSuccess);
  EXPECT_EQ(weirStreamDestroy(second), ncclSuccess);
}

TEST(Stream, TimeBetweenEvents) {
  weirStream_t stream = nullptr;
  weirEvent_t start = nullptr;
  weirEvent_t stop = nullptr;
  float milliseconds = -1;
  ASSERT_EQ(weirStreamCreate(&stream), ncclSuccess);
  ASSERT_EQ(weirEventCreate(&start), ncclSuccess);
  ASSERT_EQ(weirEventCreate(&stop), ncclSuccess);
  EXPECT_EQ(weirEventElapsedTime(&milliseconds, start, stop), ncclInvalidUsage);
  EXPECT_EQ(weirEventRecord(start, stream), ncclSuccess);
  EXPECT_EQ(weirEventRecord(stop, stream), ncclSuccess);
  EXPECT_EQ(weirEventSynchronize(stop), ncclSuccess);
  EXPECT_EQ(weirEventElapsedTime(&milliseconds, start, stop), ncclSuccess);
  EXPECT_GE(milliseconds, 0.0f);
  EXPECT_EQ(weirEventElapsedTime(nullptr, start, stop), ncclInvalidArgument);
  EXPECT_EQ(weirEventElapsedTime(&milliseconds, stop, nullptr), ncclInvalidArgument);
  EXPECT_EQ(weirEventDestroy(start), ncclSuccess);
  EXPECT_EQ(weirEventDestroy(stop), ncclSuccess);
  EXPECT_EQ(weirStreamDestroy(stream), ncclSuccess);
}

TEST(Stream, ErrorsOfQueuedWorkCome) {
  weirStream_t stream = nullptr;
  ASSERT_EQ(weirStreamCreate(&stream), ncclSuccess);
  auto host = weir::api::host_stream(stream, "test");
  (*host)->submit([] { return weir::Status(weir::Code::remote_error, "rank 3 has died"); });
  EXPECT_EQ(weirStreamSynchronize(stream), ncclRemoteError);
  EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("rank 3 has died"));
  EXPECT_EQ(weirStreamQuery(stream), ncclRemoteError) << "an error stays";
  EXPECT_EQ(weirStreamDestroy(stream), ncclRemoteError);
  EXPECT_EQ(weirStreamQuery(stream), ncclInvalidArgument) << "gone in any case";
}

}  // namespace
