// SPDX-License-Identifier: Apache-2.0

#include "src/base/service_thread.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <new>
#include <stdexcept>

#include "tests/base/limited_child.h"

namespace weir {
namespace {

void nothing(const Status&) {}

TEST(ServiceThread, RunsItsBodyWithoutTheSignalsOfTheApplication) {
  bool blocked = false;
  auto thread = start_thread(
      "weir test",
      [&] {
        sigset_t mask;
        pthread_sigmask(SIG_SETMASK, nullptr, &mask);
        blocked = sigismember(&mask, SIGUSR1) == 1 && sigismember(&mask, SIGTERM) == 1;
      },
      nothing);
  ASSERT_TRUE(thread.ok()) << thread.status().message();
  thread->join();
  EXPECT_TRUE(blocked);
  sigset_t own;
  pthread_sigmask(SIG_SETMASK, nullptr, &own);
  EXPECT_EQ(sigismember(&own, SIGUSR1), 0) << "the starting thread keeps its signals";
}

TEST(ServiceThread, AnExceptionBecomesAnErrorAndTheProcessGoesOn) {
  Status status;
  auto thread = start_thread(
      "weir test", [] { throw std::bad_alloc(); }, [&](const Status& why) { status = why; });
  ASSERT_TRUE(thread.ok());
  thread->join();
  EXPECT_EQ(status.code(), Code::system_error);
  EXPECT_NE(status.message().find("no more memory"), std::string::npos) << status.message();
}

TEST(ServiceThread, AnExceptionWhileItTellsIsLost) {
  auto thread = start_thread(
      "weir test", [] { throw std::bad_alloc(); },
      [](const Status&) { throw std::runtime_error("nobody hears this"); });
  ASSERT_TRUE(thread.ok());
  thread->join();
}

TEST(ServiceThread, NoMoreThreadsIsAnErrorThatNamesTheLimit) {
  const std::string said = testing::in_child([] {
    testing::allow_no_threads();
    auto thread = start_thread(
        "weir test", [] {}, nothing);
    return thread.ok() ? "started" : thread.status().message();
  });
  EXPECT_NE(said.find("this process cannot start its thread \"weir test\""), std::string::npos) << said;
  EXPECT_NE(said.find("ulimit -u is 0"), std::string::npos) << said;
}

TEST(ServiceThread, ARefusedSystemCallIsNoLackOfThreads) {
  const std::string said = testing::in_child([] {
    if (!testing::refuse_call(SYS_clone3)) return std::string("no filters");
    auto thread = start_thread(
        "weir test", [] {}, nothing);
    if (!thread.ok()) return thread.status().message();
    thread->join();
    return std::string("started");  // this C library does not use clone3
  });
  if (said == "no filters" || said == "started") GTEST_SKIP() << said;
  EXPECT_NE(said.find("a filter of system calls refuses it"), std::string::npos) << said;
}

}  // namespace
}  // namespace weir
