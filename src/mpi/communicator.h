// SPDX-License-Identifier: Apache-2.0
/// A communicator of MPI: one of weir, the messages that were posted on it, and one thread in it at a time.
///
/// Any thread may call all functions; a call waits until the other threads have left.
/// Tests: tests/mpi/calls_test.cc
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "nccl.h"
#include "src/mpi/abi.h"
#include "src/mpi/error.h"

namespace weir::mpi {

/// One half of a message; the memory is the caller's.
struct MpiMessage {
  bool is_sent;  ///< or else received
  void* buffer;
  std::size_t bytes;
  int peer;
};

/// Messages that are exchanged together: sends and receives of one rank must not wait for each other.
struct Batch {
  std::vector<MpiMessage> messages;
  bool is_done = false;
  int code = MPIABI_SUCCESS;
  std::string sentence;
};

class MpiCommunicator {
 public:
  /// Takes over `comm`.
  MpiCommunicator(ncclComm_t comm, int rank, int size);
  /// One that could not be made: all its calls return this error.
  MpiCommunicator(int code, std::string sentence, int rank, int size);
  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;
  /// Destroys weir's communicator; messages that were not waited for are dropped.
  ~MpiCommunicator();

  int rank() const { return rank_; }
  int size() const { return size_; }

  /// Returns body(comm), the code of a call of weir. After an error, posted messages are dropped, as their
  /// buffers may be gone before somebody waits for them.
  template <typename Body>
  int call(const Body& body) {
    const std::lock_guard lock(mutex_);
    if (comm_ == nullptr) return fail(code_, sentence_);
    const int code = body(comm_);
    if (code != MPIABI_SUCCESS) drop(code);
    return code;
  }

  /// Adds a message to those that the next wait exchanges. Null, with an error in `code`, if that is not
  /// possible.
  std::shared_ptr<Batch> post(const MpiMessage& message, int* code);
  /// Exchanges the messages of the batch, unless that has happened. Returns their error.
  int wait(Batch& batch);

 private:
  int exchange(const Batch& batch) const;
  void drop(int code);

  const int rank_;
  const int size_;
  const int code_ = MPIABI_SUCCESS;
  const std::string sentence_;
  std::mutex mutex_;
  ncclComm_t comm_ = nullptr;
  std::shared_ptr<Batch> posted_;  ///< not yet exchanged; null: none
};

}  // namespace weir::mpi
