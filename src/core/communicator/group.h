// SPDX-License-Identifier: Apache-2.0
/// Groups: what one thread issues between ncclGroupStart and the outermost ncclGroupEnd is carried out
/// together.
///
/// One Group per thread; not thread-safe.
#pragma once

#include <functional>
#include <vector>

#include "src/core/communicator/communicator.h"

namespace weir::core {

class Group {
 public:
  void start() { ++depth_; }
  int depth() const { return depth_; }

  /// An operation on `communicator`, for the caller to fill in. REQUIRES: depth() > 0.
  Operation& add(Communicator& communicator, const StreamPlace& place) {
    targets_.push_back({&communicator, place});
    return operations_.emplace_back();
  }
  /// A set-up step that may wait for other ranks (connect): all of the group run side by side. REQUIRES:
  /// depth() > 0.
  void add_job(std::function<Status()> job) { jobs_.push_back(std::move(job)); }
  /// Remembers that a call inside the group failed: the outermost end() returns it and drops the rest.
  void fail(const Status& status);
  /// Leaves one level. The outermost one runs jobs, then operations. invalid_usage without start().
  Status end();
  /// Like end(), but nothing is carried out: what it is predicted to take, as long as the communicator that
  /// takes longest. Of the outermost level only; `seconds` is left alone by others. invalid_usage where the
  /// group holds set-up steps.
  Status simulate(double& seconds);

 private:
  Status end(const std::function<Status()>& outermost);
  Status carry_out();
  Status predict(double& seconds);
  Status check_own_pairs() const;

  int depth_ = 0;
  Status failed_;
  std::vector<Target> targets_;  ///< of the operations, side by side
  std::vector<Operation> operations_;
  std::vector<std::function<Status()>> jobs_;
};

}  // namespace weir::core
