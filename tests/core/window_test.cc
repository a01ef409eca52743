// SPDX-License-Identifier: Apache-2.0

#include "src/core/execution/window.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include "src/net/listener/listener.h"
#include "src/net/secret.h"

namespace weir::core {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

constexpr uint64_t kUid = 77;
constexpr SignalKey kSignal{3, 1, 2};

BytesView view(const std::vector<int>& values) { return std::as_bytes(std::span(values)); }

class WindowTest : public ::testing::Test {
 protected:
  Delivered deliver(const Delivery& delivery) { return windows_.deliver(kUid, 0, delivery); }
  /// As a process elsewhere would.
  std::optional<Delivered> ask(BytesView question) {
    return WindowRegistry::read_answer(windows_.answer(kUid, question));
  }

  WindowRegistry windows_;
  std::shared_ptr<WindowSpace> space_ = std::make_shared<WindowSpace>();
  std::vector<int> memory_ = std::vector<int>(8, -1);
  uint32_t number_ = space_->add(memory_.data(), memory_.size() * sizeof(int), true);
};

TEST_F(WindowTest, NobodyIsThereBeforeTheRegistrationNorAfterIt) {
  const std::vector<int> data = {1, 2};
  const Delivery put{number_, 8, view(data), kSignal};
  EXPECT_EQ(deliver(put).code(), Code::in_progress);
  {
    const WindowRegistry::Registration registration(windows_, kUid, 0, space_, nullptr);
    EXPECT_EQ(windows_.deliver(kUid, 1, put).code(), Code::in_progress) << "another rank";
    EXPECT_EQ(windows_.deliver(kUid + 1, 0, put).code(), Code::in_progress) << "another communicator";
    EXPECT_TRUE(deliver(put).ok());
  }
  EXPECT_EQ(deliver(put).code(), Code::in_progress);
  EXPECT_EQ(memory_, (std::vector<int>{-1, -1, 1, 2, -1, -1, -1, -1}));
  EXPECT_TRUE(space_->consume(kSignal, 1)) << "what has come stays";
  EXPECT_FALSE(space_->consume(kSignal, 1));
}

TEST_F(WindowTest, QuestionsDoWhatCallsDo) {
  const WindowRegistry::Registration registration(windows_, kUid, 0, space_, nullptr);
  const std::vector<int> data = {5};
  const Bytes question = WindowRegistry::question(0, {number_, 28, view(data), kSignal});
  EXPECT_TRUE(WindowRegistry::is_meant(question));
  const auto answered = ask(question);
  ASSERT_TRUE(answered);
  EXPECT_TRUE(answered->ok()) << answered->message();
  EXPECT_EQ(memory_.back(), 5);
  EXPECT_TRUE(space_->consume(kSignal, 1));
}

/// Whoever lacks the secret of the job reaches the listener, but no window.
TEST_F(WindowTest, APutOfAStrangerChangesNothing) {
  const Secret job = Secret::from_text("of the job");
  auto listener =
      Listener::open(SocketAddress::loopback(AF_INET, 0),
                     [this](uint64_t scope, BytesView asked) { return windows_.answer(scope, asked); });
  ASSERT_TRUE(listener.ok());
  (*listener)->admit(static_cast<uint32_t>(kUid >> 32), job);
  const WindowRegistry::Registration registration(windows_, kUid, 0, space_, nullptr);
  const std::vector<int> data = {5};
  const Bytes put = WindowRegistry::question(0, {number_, 0, view(data), kSignal});
  const auto ask_with = [&](const Secret& secret) {
    return weir::ask((*listener)->address(), kUid, secret, put, Deadline::in_ms(10'000));
  };
  for (const Secret& wrong : {Secret(), Secret::from_text("of another job"), report_secret(job)})
    EXPECT_EQ(ask_with(wrong).kind, Answer::Kind::refused);
  const ReportSource as_report{(*listener)->address(), {static_cast<uint32_t>(kUid >> 32), std::nullopt}};
  ask_for_reports({&as_report, 1}, put, Deadline::in_ms(10'000));  // everybody may ask for reports
  EXPECT_THAT(memory_, Each(-1));
  EXPECT_FALSE(space_->consume(kSignal, 1));
  EXPECT_EQ(ask_with(job).kind, Answer::Kind::given);
  EXPECT_EQ(memory_.front(), 5);
  EXPECT_TRUE(space_->consume(kSignal, 1));
}

TEST_F(WindowTest, OutsideOfAWindowNothingIsWritten) {
  const WindowRegistry::Registration registration(windows_, kUid, 0, space_, nullptr);
  const std::vector<int> data = {1, 2};
  for (const uint64_t offset : {uint64_t{28}, uint64_t{32}, uint64_t{33}, ~uint64_t{0}, ~uint64_t{0} - 7}) {
    const auto answered = ask(WindowRegistry::question(0, {number_, offset, view(data), kSignal}));
    ASSERT_TRUE(answered);
    EXPECT_EQ(answered->code(), Code::invalid_argument) << offset;
    EXPECT_THAT(answered->message(), HasSubstr("has 32 bytes"));
  }
  EXPECT_EQ(deliver({number_ + 1, 0, view(data), kSignal}).code(), Code::in_progress) << "not made yet";
  const uint32_t elsewhere = space_->add(memory_.data(), 32, false);
  EXPECT_EQ(deliver({elsewhere, 0, view(data), kSignal}).code(), Code::invalid_usage);
  space_->remove(number_);
  EXPECT_EQ(deliver({number_, 0, view(data), kSignal}).code(), Code::invalid_usage);
  EXPECT_THAT(memory_, Each(-1));
  EXPECT_FALSE(space_->consume(kSignal, 1)) << "no signal without its data";
}

TEST_F(WindowTest, QuestionsThatMakeNoSenseDoNothing) {
  const WindowRegistry::Registration registration(windows_, kUid, 0, space_, nullptr);
  const std::vector<int> data = {1, 2};
  const Bytes right = WindowRegistry::question(0, {number_, 0, view(data), kSignal});
  for (size_t size = 1; size < right.size(); ++size)
    EXPECT_FALSE(ask(BytesView(right).first(size))) << size << " bytes of " << right.size();
  Bytes longer = right;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(ask(longer));
  EXPECT_THAT(memory_, Each(-1));
  std::mt19937 random(1);
  for (int i = 0; i < 10'000; ++i) {
    Bytes garbage(random() % 60);
    for (std::byte& byte : garbage) byte = static_cast<std::byte>(random());
    (void)WindowRegistry::read_answer(garbage);
    if (!garbage.empty()) (void)windows_.answer(random() % 2 == 0 ? kUid : random(), garbage);
  }
  EXPECT_FALSE(WindowRegistry::is_meant({}));
}

TEST_F(WindowTest, SignalsAreCountedByKey) {
  const WindowRegistry::Registration registration(windows_, kUid, 0, space_, nullptr);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(deliver({0, 0, {}, kSignal}).ok());
  EXPECT_TRUE(deliver({0, 0, {}, SignalKey{3, 1, 0}}).ok());
  EXPECT_FALSE(space_->consume(kSignal, 4));
  EXPECT_TRUE(space_->consume(kSignal, 2));
  EXPECT_TRUE(space_->consume(kSignal, 1));
  EXPECT_TRUE(space_->consume(kSignal, 0));
  EXPECT_FALSE(space_->consume({4, 1, 0}, 1));
  EXPECT_TRUE(space_->consume({3, 1, 0}, 1));
}

/// One rank waits, others write; a registration that ends stops all writing before its memory goes.
TEST_F(WindowTest, ManyThreads) {
  constexpr int kWriters = 3, kRounds = 2000;
  std::atomic<bool> stops{false};
  std::vector<std::thread> threads;
  {
    const WindowRegistry::Registration registration(windows_, kUid, 0, space_, nullptr);
    for (int writer = 0; writer < kWriters; ++writer) {
      threads.emplace_back([&, writer] {
        for (int round = 0; round < kRounds && !stops.load(); ++round) {
          const std::vector<int> data = {round};
          const Delivery put{number_, static_cast<uint64_t>(writer) * 4, view(data), SignalKey{writer, 0, 0}};
          EXPECT_TRUE(deliver(put).ok());
          while (!space_->consume({writer, 1, 0}, 1) && !stops.load()) std::this_thread::yield();
        }
      });
    }
    for (int round = 0; round < kRounds; ++round) {
      for (int writer = 0; writer < kWriters; ++writer) {
        while (!space_->consume({writer, 0, 0}, 1)) std::this_thread::yield();
        ASSERT_EQ(memory_[static_cast<size_t>(writer)], round);
        EXPECT_TRUE(deliver({0, 0, {}, SignalKey{writer, 1, 0}}).ok());
      }
    }
    for (std::thread& thread : threads) thread.join();
  }
  threads.clear();
  for (int writer = 0; writer < kWriters; ++writer) {
    threads.emplace_back([&] {
      const std::vector<int> data = {9};
      while (!stops.load()) (void)deliver({number_, 0, view(data), std::nullopt});
    });
  }
  for (int i = 0; i < 100; ++i) {
    { const WindowRegistry::Registration registration(windows_, kUid, 0, space_, nullptr); }
    memory_[0] = i;  // nobody else writes now
    EXPECT_EQ(memory_[0], i);
  }
  stops.store(true);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace weir::core
