// SPDX-License-Identifier: Apache-2.0
/// One way in which a communicator carries operations out: on host memory (HostBackend), on a GPU's memory
/// through pinned host memory (StagedBackend), or as kernels on GPUs (DeviceBackend).
///
/// A call or a group goes through the back ends in four steps: each back end takes its operations and
/// prepares a Call; then all calls are started, kind by kind; then all are advanced in rounds until none has
/// a step left; then each is finished. Calls of several communicators take every step together, because their
/// ranks may wait for each other.
///
/// Threads: one thread at a time may take, prepare, start, advance and finish; abort(), idle() and
/// wait_idle() may be called by any thread.
/// Tests: tests/conform/collectives_test.cc, tests/conform/point_to_point_test.cc
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "src/core/call/operation.h"
#include "src/core/call/streams.h"

namespace weir::core {

class Backend {
 public:
  /// What a back end was handed at once, and how far it is. Destroyed before start(), it leaves nothing
  /// behind: it is as if it had never been prepared. REQUIRES: it is destroyed before its back end.
  class Call {
   public:
    virtual ~Call() = default;
    /// Queues the next step, without waiting for ranks of other calls. False: there was none left.
    virtual bool advance() = 0;
    /// Lets the places go on after the call; where a place is no stream, waits for the end. Returns the
    /// call's error, or in_progress where the call goes on in the background.
    virtual Status finish() = 0;
  };
  /// Operations of one communicator that belong together, and the places in which they were issued, in order
  /// of first use.
  struct Batch {
    std::vector<Operation> operations;
    std::vector<StreamPlace> places;
    bool alone = true;  ///< no other call is queued before this one is finished
  };

  virtual ~Backend() = default;

  /// Moves those operations out of `operations` that this back end carries out, in order; the same ones on
  /// all ranks.
  virtual std::vector<Operation> take(std::vector<Operation>& operations,
                                      std::span<const StreamPlace> places) const = 0;
  /// Checks the batch, and allocates what it needs: later steps do not wait for a driver. Errors:
  /// invalid_usage where streams, memory and operations do not go together; those of the driver.
  virtual Result<std::unique_ptr<Call>> prepare(Batch batch) = 0;
  /// Starts calls of this kind of back end, of one or several communicators (this one's among them). Errors:
  /// those of the driver; then none of them runs, and what other ranks wait for fails there too.
  virtual Status start(std::span<Call* const> calls) = 0;

  /// What is under way ends soon, with an error; likewise what is started later.
  virtual void abort() = 0;
  /// Everything that was started is over, except for graphs, which may be launched at any time.
  virtual bool idle() const = 0;
  /// Waits until idle(), or until the communicator is aborted.
  virtual void wait_idle() = 0;
};

}  // namespace weir::core
