// SPDX-License-Identifier: Apache-2.0
/// Something that a waiting thread advances until it is done: a Run of a program, or a fast path that stands
/// for one.
///
/// Tasks never block. One thread may advance several tasks in turn, also of ranks that depend on each other.
#pragma once

#include <string>
#include <vector>

#include "src/base/types.h"
#include "weir/status.h"

namespace weir::exec {

enum class Progress : uint8_t {
  blocked,  ///< nothing could be done; a peer must act first
  moved,    ///< something was done, and there is more
  done,
  failed,  ///< see Task::error()
};

class Task {
 public:
  virtual ~Task() = default;
  /// Does what can be done now.
  virtual Progress advance() = 0;
  /// Serves the transports while the task is blocked; tells of a broken channel, and sets `peer` to the rank
  /// at its other end.
  virtual Status serve(Rank& peer) = 0;
  /// Why advance() failed.
  virtual Status error() const = 0;
  /// The rank whose action the task waits for; REQUIRES: advance() just said blocked.
  virtual Rank waiting_for() const = 0;
  /// All of them, if it waits for several at once, each once. As waiting_for().
  virtual std::vector<Rank> awaited() const { return {waiting_for()}; }
  /// Which of its steps waits, for a person: "step 3 of 12 of lane 0"; nothing where it has no steps. As
  /// waiting_for().
  virtual std::string place() const { return {}; }
};

}  // namespace weir::exec
