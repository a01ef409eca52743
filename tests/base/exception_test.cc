// SPDX-License-Identifier: Apache-2.0

#include "src/base/exception.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <new>
#include <stdexcept>
#include <system_error>

namespace weir {
namespace {

TEST(Exception, GuardedGivesWhatTheBodyReturns) {
  EXPECT_TRUE(guarded([] { return Status(); }).ok());
  EXPECT_EQ(guarded([] { return Status(Code::invalid_usage, "why"); }).message(), "why");
}

TEST(Exception, OutOfMemoryIsASystemErrorThatBlamesThisProcess) {
  const Status status = guarded([]() -> Status { throw std::bad_alloc(); });
  EXPECT_EQ(status.code(), Code::system_error);
  EXPECT_NE(status.message().find("this process gets no more memory"), std::string::npos);
  EXPECT_EQ(status.message(), out_of_memory().message());
}

TEST(Exception, ErrorsOfTheSystemKeepTheirSentence) {
  const Status status = guarded([]() -> Status {
    throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
  });
  EXPECT_EQ(status.code(), Code::system_error);
  EXPECT_NE(status.message().find("temporarily unavailable"), std::string::npos) << status.message();
}

TEST(Exception, OthersAreInternalErrors) {
  const Status logic = guarded([]() -> Status { throw std::length_error("too long"); });
  EXPECT_EQ(logic.code(), Code::internal_error);
  EXPECT_NE(logic.message().find("too long"), std::string::npos);
  EXPECT_EQ(guarded([]() -> Status { throw 7; }).code(), Code::internal_error);
}

TEST(Exception, ACancelledThreadEndsInsideAGuardedCall) {
  pthread_t thread{};
  const auto wait_for_ever = [](void*) -> void* {
    (void)guarded([] {
      for (;;) pause();
      return Status();
    });
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, nullptr, wait_for_ever, nullptr), 0);
  ASSERT_EQ(pthread_cancel(thread), 0);
  void* result = nullptr;
  ASSERT_EQ(pthread_join(thread, &result), 0);
  EXPECT_EQ(result, PTHREAD_CANCELED);
}

}  // namespace
}  // namespace weir
