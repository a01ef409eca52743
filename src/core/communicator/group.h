// SPDX-License-Identifier: Apache-2.0
/// Groups: the calls of one thread between ncclGroupStart and the outermost ncclGroupEnd, carried out
/// together.
///
/// One Group per thread; not thread-safe.
/// Tests: tests/api/group_test.cc
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "src/core/communicator/communicator.h"
#include "src/core/communicator/group_launch.h"

namespace weir::core {

class Group {
 public:
  void start() { ++depth_; }
  int depth() const { return depth_; }

  /// Adds an operation on `communicator`. REQUIRES: depth() > 0.
  void add(Communicator& communicator, const StreamPlace& place, Operation&& operation) {
    targets_.push_back({&communicator, place});
    operations_.push_back(std::move(operation));
  }
  /// Adds a set-up step that may wait for other ranks (connect); all steps of the group run in parallel.
  /// REQUIRES: depth() > 0.
  void add_job(std::function<Status()> job) { jobs_.push_back(std::move(job)); }
  /// Records that a call inside the group failed: the outermost end() returns the error and drops the group.
  void fail(const Status& status);
  /// Leaves one level. The outermost one runs jobs, then operations. invalid_usage without start().
  Status end();
  /// Like end(), but carries nothing out. At the outermost level it sets `seconds` to the predicted time,
  /// that of the communicator that takes longest; at inner levels it leaves `seconds` unchanged.
  /// invalid_usage if the group holds set-up steps.
  Status simulate(double& seconds);

 private:
  Status end(const std::function<Status()>& outermost);
  Status carry_out();
  Status predict(double& seconds);
  Status check_own_pairs() const;

  int depth_ = 0;
  Status failed_;
  std::vector<Target> targets_;  ///< targets of the operations, by the same index
  std::vector<Operation> operations_;
  std::vector<std::function<Status()>> jobs_;
};

}  // namespace weir::core
