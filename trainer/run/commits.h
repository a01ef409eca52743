// SPDX-License-Identifier: Apache-2.0
/// How far the training state of a rank is, so that ranks that are left after a failure can go on from one
/// state without a checkpoint.
///
/// The state changes by commits: an update of the optimizer, a meeting of groups, the loading of state from
/// peers. A rank commits only after a collective in which all ranks were ready for the commit, that is, had
/// all that it takes. So when ranks are lost, some of those left may have made a commit for which the others
/// are only ready, and these can make it by themselves. torchft's votes (should_commit) have the same aim.
/// Tests: tests/trainer/commits_test.cc
#pragma once

#include <cstdint>
#include <optional>

#include "trainer/math/row_calls.h"

namespace weir::trainer {

/// Plain data: ranks send it to each other as bytes.
struct Standing {
  uint64_t commits = 0;  ///< 0: the rank has no state that others can use
  int64_t steps = 0;     ///< steps that are done in it
  int8_t ready = 0;      ///< 1: for the next commit
  int8_t meets = 0;      ///< 1: groups have still to meet after the last step
  int8_t finite = 1;     ///< 0: the last commit was that of a step that is skipped
  int8_t unused[5] = {};
};
static_assert(sizeof(Standing) == 24);

/// A change of the state that a rank can make by itself.
struct Commit {
  enum class Kind : uint8_t { load, update, meeting } kind = Kind::load;
  Index step = 0;
  float norm = 0;  ///< of the gradient of the rank's group
};

/// Used by one thread at a time.
class Commits {
 public:
  /// `ready` says whether a commit was announced.
  Standing standing() const;
  /// Whether the state is that of the run: begun with, from a checkpoint or from peers.
  bool has_state() const { return has_state_; }
  /// Whether it is that of peers, and whether a step has changed it.
  bool has_loaded() const { return has_loaded_; }
  bool has_trained() const { return has_trained_; }

  /// The state is that after `steps` steps, which all ranks begin with.
  void begin(Index steps);
  /// The state is going to be that of peers with this standing.
  void follow(const Standing& standing) { standing_ = standing; }
  /// This rank is ready for a commit.
  void announce(const Commit& commit) { next_ = commit; }
  /// Takes the commit, to be made now. Until made(), the rank has no state that others can use.
  Commit take();
  /// It was made. `finite`: of an update, whether it has changed anything; `meets`: groups meet after it.
  void made(const Commit& commit, bool finite, bool meets);

 private:
  Standing standing_;
  std::optional<Commit> next_;
  uint64_t before_ = 0;  ///< number of commits before the one that is being made
  bool has_state_ = false;
  bool has_loaded_ = false;
  bool has_trained_ = false;
};

}  // namespace weir::trainer
