// SPDX-License-Identifier: Apache-2.0

#include "src/core/call/lifecycle.h"

#include <gmock/gmock.h>

namespace weir::core {
namespace {

using Phase = Lifecycle::Phase;
using ::testing::HasSubstr;

struct LifecycleTest : ::testing::Test {
  int failures = 0;
  Lifecycle life{[this] { ++failures; }};
  const Status error{Code::remote_error, "rank 3 died"};
};

TEST_F(LifecycleTest, BeforeItConnectsNothingCanBeStarted) {
  EXPECT_EQ(life.phase(), Phase::created);
  EXPECT_FALSE(life.ready());
  EXPECT_EQ(life.usable().code(), Code::invalid_usage);
  EXPECT_THAT(life.usable().message(), HasSubstr("was not connected"));
}

TEST_F(LifecycleTest, APhaseThatIsPassedThroughIsInProgress) {
  for (const auto& [phase, sentence] :
       {std::pair{Phase::connecting, "being set up"}, std::pair{Phase::suspending, "being suspended"},
        std::pair{Phase::resuming, "being resumed"}}) {
    life.enter(phase);
    EXPECT_EQ(life.status().code(), Code::in_progress);
    EXPECT_THAT(life.status().message(), HasSubstr(sentence));
    EXPECT_EQ(life.usable().code(), Code::invalid_argument);
    EXPECT_FALSE(life.ready());
  }
}

TEST_F(LifecycleTest, AFinalizingOneIsStillUsableAndASuspendedOneIsNot) {
  life.enter(Phase::ready);
  EXPECT_TRUE(life.ready());
  life.enter(Phase::finalizing);
  EXPECT_FALSE(life.ready());
  EXPECT_TRUE(life.usable().ok());
  life.enter(Phase::suspended);
  EXPECT_TRUE(life.status().ok());
  EXPECT_THAT(life.usable().message(), HasSubstr("ncclCommResume"));
}

TEST_F(LifecycleTest, TheFirstErrorStaysWhateverComesLater) {
  life.enter(Phase::ready);
  life.fail(error);
  life.fail({Code::system_error, "later"});
  life.enter(Phase::ready);
  EXPECT_EQ(life.phase(), Phase::failed);
  EXPECT_EQ(life.status().message(), error.message());
  EXPECT_EQ(life.usable().message(), error.message());
  EXPECT_EQ(failures, 1);
}

TEST_F(LifecycleTest, ARevokedOneStaysRevokedAndKeepsItsFirstError) {
  life.enter(Phase::ready);
  life.fail(error);
  life.revoke({Code::invalid_usage, "the communicator was revoked"});
  EXPECT_TRUE(life.revoked());
  life.fail({Code::system_error, "later"});
  EXPECT_TRUE(life.revoked());
  EXPECT_EQ(life.status().message(), error.message());
  EXPECT_EQ(failures, 1);
}

}  // namespace
}  // namespace weir::core
