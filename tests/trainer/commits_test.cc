// SPDX-License-Identifier: Apache-2.0
/// What a rank says of its state, before, while and after it changes.
#include "trainer/run/commits.h"

#include <gtest/gtest.h>

namespace weir::trainer {
namespace {

TEST(Commits, CountUpdatesAndMeetings) {
  Commits commits;
  EXPECT_FALSE(commits.has_state());
  commits.begin(7);
  EXPECT_EQ(commits.standing().commits, 1U);
  EXPECT_EQ(commits.standing().steps, 7);
  commits.announce({Commit::Kind::update, 7, 1.5F});
  EXPECT_EQ(commits.standing().ready, 1);
  EXPECT_FALSE(commits.has_trained());
  const Commit update = commits.take();
  EXPECT_EQ(update.norm, 1.5F);
  EXPECT_EQ(commits.standing().commits, 0U) << "half changed";
  commits.made(update, false, true);
  EXPECT_TRUE(commits.has_trained());
  EXPECT_EQ(commits.standing().commits, 2U);
  EXPECT_EQ(commits.standing().steps, 8);
  EXPECT_EQ(commits.standing().finite, 0);
  EXPECT_EQ(commits.standing().meets, 1);
  EXPECT_EQ(commits.standing().ready, 0);
  commits.announce({Commit::Kind::meeting, 7, 0});
  commits.made(commits.take(), true, false);
  EXPECT_EQ(commits.standing().commits, 3U);
  EXPECT_EQ(commits.standing().steps, 8);
  EXPECT_EQ(commits.standing().meets, 0);
}

TEST(Commits, StateOfPeersCountsWhenItIsLoaded) {
  Commits commits;
  commits.follow({.commits = 5, .steps = 40, .meets = 1});
  commits.announce({});
  EXPECT_FALSE(commits.has_state());
  commits.made(commits.take(), true, false);
  EXPECT_TRUE(commits.has_state());
  EXPECT_TRUE(commits.has_loaded());
  EXPECT_FALSE(commits.has_trained());
  EXPECT_EQ(commits.standing().commits, 6U);
  EXPECT_EQ(commits.standing().meets, 1) << "the meeting is still to come";
}

}  // namespace
}  // namespace weir::trainer
