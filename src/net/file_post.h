// SPDX-License-Identifier: Apache-2.0
/// Hands open files from process to process of a host, among the ranks of one communicator: descriptors that
/// nobody may open by a name, as those of GPUs' memory. Unix sockets with names in the abstract space, which
/// the kernel gives.
///
/// Errors: system_error, with the rank that it is about. One thread at a time.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "src/base/types.h"
#include "src/net/socket.h"
#include "weir/status.h"

namespace weir {

class FilePost {
 public:
  /// `uid`: of the communicator; files of others are dropped.
  static Result<FilePost> open(uint64_t uid, Rank rank);
  /// Where other ranks send to. Processes in another network namespace cannot.
  const std::string& address() const { return address_; }

  /// Gives `file` to all ranks with an address, and takes what those send: by rank, without this one's. All
  /// of them call it. `addresses` by rank; empty: takes no part.
  Result<std::vector<Socket>> exchange(std::span<const std::string> addresses, const Socket& file,
                                       int64_t within_ns);

 private:
  FilePost(uint64_t uid, Rank rank, Socket socket, std::string address)
      : uid_(uid), rank_(rank), socket_(std::move(socket)), address_(std::move(address)) {}
  /// Nothing where the other side has no room now.
  Result<bool> send(const std::string& address, Rank to, const Socket& file) const;
  /// Nothing where there is none, or not from one of the ranks.
  bool take(std::vector<Socket>& files) const;

  uint64_t uid_;
  Rank rank_;
  Socket socket_;
  std::string address_;
};

}  // namespace weir
