// SPDX-License-Identifier: Apache-2.0

#include "trainer/checkpoint/shared_folder.h"

#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <random>

#include "trainer/checkpoint/agree.h"
#include "trainer/checkpoint/folder.h"
#include "trainer/shard/calls.h"

namespace weir::checkpoint {
namespace {

std::string host_name() {
  std::array<char, HOST_NAME_MAX + 1> host{};
  gethostname(host.data(), host.size() - 1);
  return host.data();
}

}  // namespace

// Names are new in each call: network file systems remember for a while that a file was not there.
Result<int> first_in_folder(ncclComm_t world, const std::string& folder, Files& files) {
  int rank = 0;
  WEIR_TRY(shard::checked(ncclCommUserRank(world, &rank), "checking the checkpoint folder"));
  uint64_t token = 0;
  if (rank == 0) {
    std::random_device random;
    token = uint64_t{random()} << 32 | random();
  }
  WEIR_TRY(shard::checked(ncclBroadcast(&token, &token, 1, ncclUint64, 0, world, nullptr),
                          "checking the checkpoint folder"));
  const auto path_of = [&](int of) {
    return fmt::format("{}/{}{:016x}-{}{}", folder, kProbe, token, of, kTemporary);
  };
  Status status = files.make_folder(path_of(rank));
  if (!status.ok())
    status = Status(status.code(),
                    fmt::format("the checkpoint folder {} on host {} cannot be written to: {}; expected a "
                                "folder with the permission to write",
                                folder, host_name(), status.message()));
  status = agree(world, status);
  int first = 0;
  while (status.ok() && first < rank && access(path_of(first).c_str(), F_OK) != 0) ++first;
  if (status.ok()) status = agree(world, Status());  // not removed before all have looked
  (void)files.remove(path_of(rank));                 // what cannot be removed is a leftover
  return status.ok() ? Result<int>(first) : status;
}

Status check_shared(ncclComm_t world, const std::string& folder, int first) {
  return agree(world, first == 0
                          ? Status()
                          : Status(Code::invalid_usage,
                                   fmt::format("the checkpoint folder {} on host {} is another one than "
                                               "that of rank 0; expected a folder that all ranks share, "
                                               "or --checkpoints-local",
                                               folder, host_name())));
}

Status check_space(const std::string& folder, uint64_t bytes) {
  struct statvfs system {};
  if (statvfs(folder.c_str(), &system) != 0 || system.f_blocks == 0) return {};
  const uint64_t free = uint64_t{system.f_bavail} * system.f_frsize;
  if (free >= bytes) return {};
  const auto mib = [](uint64_t count) { return static_cast<double>(count) / (1 << 20); };
  return Status(Code::system_error,
                fmt::format("{}: the file system has {:.1f} MiB free, but a checkpoint takes {:.1f} MiB; "
                            "expected space for one more than there are",
                            folder, mib(free), mib(bytes)));
}

}  // namespace weir::checkpoint
