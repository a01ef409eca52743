// SPDX-License-Identifier: Apache-2.0
/// The ranks of one thread: communicators, buffers, registrations.
#pragma once

#include <nccl.h>

#include <memory>
#include <mutex>
#include <vector>

#include "bench/perf/memory.h"
#include "bench/perf/options.h"
#include "bench/perf/outcome.h"

namespace weir::perf {

struct LocalRank {
  int rank = 0;  ///< rank in its communicator
  std::unique_ptr<Memory> memory;
  ncclComm_t communicator = nullptr;
  char* send = nullptr;
  char* recv = nullptr;
};

/// Used by one thread at a time, except abort().
class Ranks {
 public:
  /// Ranks [first, first + count) of a communicator of `size` ranks.
  Ranks(const PerfOptions& options, int first, int count, int size);
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;
  /// Frees the buffers; does not destroy communicators.
  ~Ranks();

  /// Opens the ranks' memory; `first_on_host`: number of the first rank on its host. `devices` outlives the
  /// ranks. REQUIRES: called first.
  Outcome open(const Devices& devices, int first_on_host);

  int size() const { return size_; }
  std::vector<LocalRank>& local() { return local_; }

  /// Joins the communicators in one group; the ranks of several threads may be joined in one outer group.
  Outcome join(const ncclUniqueId& id);
  /// Allocates two buffers of `bytes`, plus the extra space for -u and -R, for each rank; writes them once.
  Outcome allocate(size_t bytes);
  /// Deregisters the buffers and destroys the communicators.
  Outcome leave();

  /// Aborts the communicators. Thread-safe; waiting operations of other threads fail.
  void abort();
  /// Asynchronous errors that the library reports for operations that have already returned.
  Outcome asynchronous_error();

 private:
  struct Buffer {
    Memory* memory;
    void* pointer;
  };
  struct Registration {
    ncclComm_t communicator;
    void* handle;
    ncclWindow_t window;
  };

  bool by_library() const { return options_.allocator == "nccl"; }
  Outcome allocate_one(LocalRank& rank, size_t bytes, char** out);
  Outcome enroll(LocalRank& rank, void* buffer, size_t bytes);

  const PerfOptions& options_;
  const int size_;
  std::vector<LocalRank> local_;
  std::vector<Buffer> buffers_;
  std::vector<Registration> registrations_;
  std::mutex leaving_;  ///< guards left_
  bool left_ = false;   ///< the communicators were destroyed or aborted
};

}  // namespace weir::perf
