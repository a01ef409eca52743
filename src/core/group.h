/// Groups: what one thread issues between ncclGroupStart and the outermost ncclGroupEnd is carried out
/// together.
///
/// One Group per thread; not thread-safe.
#pragma once

#include <functional>
#include <vector>

#include "src/core/communicator.h"

namespace weir::core {

class Group {
 public:
  void start() { ++depth_; }
  bool open() const { return depth_ > 0; }

  /// Carries the operation out at once, or at the end of the group.
  Status add(Communicator& communicator, const Operation& operation, device::HostStream* stream) {
    if (depth_ == 0) return communicator.run({&operation, 1}, stream);
    targets_.push_back({&communicator, stream});
    operations_.push_back(operation);
    return {};
  }
  /// A set-up step that may wait for other ranks (connect): at once, or all jobs of the group side by side.
  Status add_job(std::function<Status()> job);
  /// Remembers that a call inside the group failed: the outermost end() returns it and drops the rest.
  void fail(const Status& status);
  /// Leaves one level. The outermost one runs jobs, then operations. invalid_usage without start().
  Status end();

 private:
  Status carry_out();

  int depth_ = 0;
  Status failed_;
  std::vector<Target> targets_;  ///< of the operations, side by side
  std::vector<Operation> operations_;
  std::vector<std::function<Status()>> jobs_;
};

}  // namespace weir::core
