// SPDX-License-Identifier: Apache-2.0

#include "trainer/run/commits.h"

#include <utility>

namespace weir::trainer {

Standing Commits::standing() const {
  Standing own = standing_;
  own.ready = next_.has_value() ? 1 : 0;
  return own;
}

void Commits::begin(Index steps) {
  standing_ = {.commits = 1, .steps = steps};
  has_state_ = true;
}

Commit Commits::take() {
  before_ = std::exchange(standing_.commits, 0);
  return *std::exchange(next_, std::nullopt);
}

void Commits::made(const Commit& commit, bool finite, bool meets) {
  if (commit.kind == Commit::Kind::load) {
    has_loaded_ = has_state_ = true;
  } else {
    standing_.meets = meets ? 1 : 0;
  }
  if (commit.kind == Commit::Kind::update) {
    has_trained_ = true;
    standing_.steps = commit.step + 1;
  }
  standing_.finite = finite ? 1 : 0;
  standing_.commits = before_ + 1;
}

}  // namespace weir::trainer
