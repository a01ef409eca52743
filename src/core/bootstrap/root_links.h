// SPDX-License-Identifier: Apache-2.0
/// A joining rank's connections to the roots: to that of its share, and to the first root if it relays
/// between the two (shares.h). Where one root serves all ranks, only the former.
/// Tests: tests/core/bootstrap_roots_test.cc
#pragma once

#include <memory>
#include <optional>

#include "src/core/bootstrap/bootstrap.h"
#include "src/core/bootstrap/root_link.h"

namespace weir::core {

/// Not thread-safe.
class RootLinks {
 public:
  /// As RootLink::open(), for the root of this rank's share. `hello`: for that root. `spec` outlives it.
  static Result<std::unique_ptr<RootLinks>> open(const Bootstrap::Spec& spec, const root_wire::Hello& hello);

  /// As RootLink::serve(), for both roots; passes on what they say to each other.
  Status serve(int wait_ms);
  const std::optional<root_wire::Listeners>& listeners() const { return own_->listeners(); }
  /// True if a root has reported a failure.
  bool was_told() const { return own_->was_told() || (first_ != nullptr && first_->was_told()); }
  /// Whether this rank has to go on serving because the other ranks of its share are still joining.
  bool is_needed() const { return own_->relays() && !own_->released(); }
  /// Tells the roots that this rank knows the others, or why it failed.
  void leave(const Status& status);

 private:
  RootLinks(const Bootstrap::Spec& spec, const root_wire::Hello& hello) : spec_(spec), hello_(hello) {}

  static Result<std::unique_ptr<RootLink>> open_first(const Bootstrap::Spec& spec, root_wire::Hello hello,
                                                      int64_t limit_ms);

  const Bootstrap::Spec& spec_;
  const root_wire::Hello hello_;
  std::unique_ptr<RootLink> own_;
  std::unique_ptr<RootLink> first_;
};

}  // namespace weir::core
