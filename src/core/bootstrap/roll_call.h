// SPDX-License-Identifier: Apache-2.0
/// Who has come to a root, and who is missing. At the first of several roots these are all ranks, at another
/// one those of its share (shares.h).
///
/// Not thread-safe.
/// Tests: tests/core/bootstrap_test.cc, tests/core/bootstrap_roots_test.cc
#pragma once

#include <list>
#include <optional>
#include <vector>

#include "src/base/status.h"
#include "src/core/bootstrap/root_wire.h"
#include "src/core/bootstrap/shares.h"

namespace weir::core {

class RollCall {
 public:
  /// Whether a hello fits those that have come (hello_check.h).
  Status check(const root_wire::Hello& hello, TlsSettings::Mode encryption) const;
  /// Learns from a hello that fits who is to come and which root this is. An error if earlier hellos say
  /// that this is another root.
  Status place(const root_wire::Hello& hello);
  /// Adds a hello that fits. The reference stays valid.
  const root_wire::Hello& add(root_wire::Hello hello);
  /// Adds the hello of a rank that came to another root, if it fits.
  Status take_relayed(root_wire::Hello hello, const root_wire::Hello& relay, TlsSettings::Mode encryption);

  /// The ranks of the communicator; 0 before the first hello.
  size_t ranks() const { return by_rank_.size(); }
  bool at_first_root() const { return place_ == 0; }
  bool complete() const { return ranks() > 0 && came_ == expected(); }
  /// The ranks that connect to this root, those that relay included.
  size_t to_tell() const { return share_.size() + (at_first_root() ? static_cast<size_t>(roots_) - 1 : 0); }
  /// Whoever has said this hello, if anybody, needs no word of a failure (any more). Repeating it changes
  /// nothing.
  void note_told(const std::optional<root_wire::Hello>& hello);
  bool all_told() const { return told_ >= to_tell(); }
  /// A rank of another process than this one has said a hello, be it to decline.
  void note_other_process() { other_process_ = true; }
  bool other_process() const { return other_process_; }
  /// Whether the rank of a hello is one that has not come.
  bool misses(const root_wire::Hello& hello) const;
  /// The error that names the missing ranks.
  Status missing_within(int64_t limit_ms) const;
  /// Null while missing.
  const std::vector<const root_wire::Hello*>& by_rank() const { return by_rank_; }
  /// By rank. REQUIRES: complete(), at_first_root().
  std::vector<root_wire::Listeners::Entry> listeners() const;

 private:
  size_t expected() const { return at_first_root() ? ranks() : share_.size(); }

  std::vector<const root_wire::Hello*> by_rank_;
  std::list<root_wire::Hello> hellos_;
  std::vector<bool> is_told_;  ///< by rank
  size_t told_ = 0;
  size_t came_ = 0;
  int place_ = 0;
  int roots_ = 1;
  bool other_process_ = false;
  Share share_;
};

}  // namespace weir::core
