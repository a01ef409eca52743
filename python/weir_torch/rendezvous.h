// SPDX-License-Identifier: Apache-2.0
/// How ranks find each other through PyTorch's store, without a communicator.
///
/// The store may still hold what ranks of an earlier attempt of the job have left there (torchrun's
/// --max-restarts). So rank 0 begins a rendezvous with a new number, under which the others come, each with a
/// number of its own; what rank 0 says carries the numbers of those for whom it is meant. Nobody blocks
/// inside the store, since that would block its other users: they poll every few milliseconds.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "python/weir_torch/base.h"

namespace weir_torch {

/// Waits until the store has the key. Returns false after `timeout`, or when `given_up` returns true.
bool await_key(
    c10d::Store& store, const std::string& key, Milliseconds timeout,
    const std::function<bool()>& given_up = [] { return false; });

/// One rank's part. Not thread-safe. All functions throw the store's errors.
class Rendezvous {
 public:
  /// `name`: prefix of its keys, the same on all ranks. Rank 0 begins the rendezvous. `store` must outlive
  /// it.
  Rendezvous(c10d::Store& store, std::string name, int rank, int size);

  /// The key that the store has once rank 0 has begun the rendezvous.
  static std::string begun(const std::string& name) { return name + "/begun"; }

  /// Waits for the other ranks. Returns those that have not come within `timeout`, or until `given_up`
  /// returned true, in ascending order. Rank 0 only.
  std::vector<int> await_all(Milliseconds timeout, const std::function<bool()>& given_up);
  /// Says `words` to all that have come. Rank 0 only, once.
  void say(const std::string& words);

  /// Comes to the rendezvous, and returns what rank 0 says; nothing after `timeout`, or when `given_up`
  /// returned true. Not for rank 0.
  std::optional<std::string> listen(Milliseconds timeout, const std::function<bool()>& given_up);
  /// The ranks without which listen() has waited, as far as this one knows: rank 0 if all others have come.
  std::vector<int> missing() const;

 private:
  std::string here(int rank) const { return name_ + "/here/" + begun_ + "/" + std::to_string(rank); }
  std::string said() const { return name_ + "/said/" + begun_; }
  bool come();
  std::optional<std::string> heard() const;

  c10d::Store& store_;
  const std::string name_;
  const int rank_;
  const int size_;
  const std::string own_;  ///< the number of this rank
  std::string begun_;      ///< that of the rendezvous; empty: not known yet
};

/// Whether an error ends with what Gloo would say, of the first or of all missing ranks.
enum class GloosWords { none, of_first, of_all };

/// A barrier whose error names every missing rank on every rank that came. Rank 0 determines the missing
/// ranks; if rank 0 itself is missing, each rank reports that. `name` must be unique to this barrier. Throws.
void monitored_barrier(c10d::Store& store, const std::string& name, int rank, int size, Milliseconds timeout,
                       GloosWords words);

}  // namespace weir_torch
