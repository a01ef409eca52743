// SPDX-License-Identifier: Apache-2.0
/// The ranks that one thread drives: communicators, buffers, registrations.
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
  int rank = 0;  ///< in its communicator
  std::unique_ptr<Memory> memory;
  ncclComm_t communicator = nullptr;
  char* send = nullptr;
  char* recv = nullptr;
};

/// Used by one thread at a time, except abort().
class Ranks {
 public:
  /// `count` ranks from `first` on, of `size`.
  Ranks(const Options& options, int first, int count, int size);
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;
  /// Frees the buffers; communicators that were not destroyed are left as they are.
  ~Ranks();

  /// Their memory; the first rank has this number among those of its host. `devices` outlives the ranks.
  /// REQUIRES: called before everything else.
  Outcome open(const Devices& devices, int first_on_host);

  int size() const { return size_; }
  std::vector<LocalRank>& local() { return local_; }

  /// Joins the communicators, as one group; several threads' ranks may be joined in one outer group.
  Outcome join(const ncclUniqueId& id);
  /// Two buffers for each rank of `bytes` and what -u and -R need besides, written once.
  Outcome allocate(size_t bytes);
  /// Deregisters and destroys.
  Outcome leave();

  /// Aborts the communicators. Thread-safe; what other threads wait for in them fails.
  void abort();
  /// What the library says about operations that have already returned.
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

  Outcome allocate_one(LocalRank& rank, size_t bytes, char** out);
  Outcome enroll(LocalRank& rank, void* buffer, size_t bytes);

  const Options& options_;
  const int size_;
  std::vector<LocalRank> local_;
  std::vector<Buffer> buffers_;
  std::vector<Registration> registrations_;
  std::mutex leaving_;  ///< of left_
  bool left_ = false;   ///< destroyed or aborted
};

}  // namespace weir::perf
