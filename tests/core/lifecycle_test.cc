// SPDX-License-Identifier: Apache-2.0

#include "src/core/call/lifecycle.h"

#include <gmock/gmock.h>

#include "src/base/log.h"

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
  EXPECT_TRUE(life.status().ok()) << "as asked for";
  EXPECT_EQ(life.usable().message(), error.message());
  EXPECT_EQ(failures, 1);
}

TEST_F(LifecycleTest, AChildThatIsSetUpIsProgressButInNobodysWay) {
  life.enter(Phase::ready);
  life.begin_child();
  EXPECT_EQ(life.status().code(), Code::in_progress);
  EXPECT_TRUE(life.usable().ok());
  life.revoke({Code::invalid_usage, "the communicator was revoked"});
  EXPECT_EQ(life.status().code(), Code::in_progress);
  life.end_child();
  EXPECT_TRUE(life.status().ok());
}

TEST_F(LifecycleTest, AnErrorThatNoCallReturnsIsTheLastErrorBeforeOthersSeeIt) {
  std::string last;
  Lifecycle seen([&last] { last = last_error(); });
  seen.enter(Phase::ready);
  seen.fail({Code::remote_error, "a call returns this"});
  EXPECT_STRNE(last.c_str(), "a call returns this");
  Lifecycle unseen([&last] { last = last_error(); });
  unseen.enter(Phase::ready);
  unseen.fail(error, false);
  EXPECT_EQ(last, error.message());
  unseen.fail({Code::system_error, "later"}, false);
  EXPECT_EQ(last_error(), error.message()) << "of one communicator, only the first error";
}

}  // namespace
}  // namespace weir::core
