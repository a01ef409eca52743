// SPDX-License-Identifier: Apache-2.0
/// Exchanges open file descriptors between processes of a host, among the ranks of one communicator, for
/// files without a name, such as exported GPU memory. Uses Unix sockets whose names in the abstract namespace
/// the kernel chooses.
///
/// Errors: system_error, which names the rank concerned. One thread at a time.
/// Tests: tests/net/file_post_test.cc
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/base/types.h"
#include "src/net/socket.h"

namespace weir {

class FilePost {
 public:
  /// `uid` identifies the communicator; descriptors from other communicators are dropped.
  static Result<FilePost> open(uint64_t uid, Rank rank);
  /// The address that other ranks send to. Processes in another network namespace cannot reach it.
  const std::string& address() const { return address_; }

  /// Sends `file` to all ranks with an address and returns the descriptors that they send, by rank; this
  /// rank's entry stays empty. All of these ranks must call it. `addresses` is indexed by rank; an empty
  /// address means that the rank takes no part.
  Result<std::vector<Socket>> exchange(std::span<const std::string> addresses, const Socket& file,
                                       int64_t within_ns);

 private:
  FilePost(uint64_t uid, Rank rank, Socket socket, std::string address)
      : uid_(uid), rank_(rank), socket_(std::move(socket)), address_(std::move(address)) {}
  /// Returns false where the receiver's socket is full now.
  Result<bool> send(const std::string& address, Rank to, const Socket& file) const;
  /// Receives one message into `files`, ignoring it if it is not from one of the ranks; returns false if none
  /// has arrived.
  Result<bool> take(std::vector<Socket>& files) const;

  uint64_t uid_;
  Rank rank_;
  Socket socket_;
  std::string address_;
};

}  // namespace weir
