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
Status check_shared(ncclComm_t world, const std::string& folder, Files& files) {
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
  const std::string own = path_of(rank);
  Status status = files.make_folder(own);
  const Status first = agree(world, rank == 0 ? status : Status());
  if (first.ok() && status.ok() && access(path_of(0).c_str(), F_OK) != 0)
    status = Status(Code::invalid_usage, "what rank 0 has written there is not seen");
  if (first.ok() && !status.ok())
    status = Status(Code::invalid_usage,
                    fmt::format("the checkpoint folder {} on host {} is not one that this rank shares with "
                                "rank 0: {}; expected a folder that all ranks can write to",
                                folder, host_name(), status.message()));
  // Not before all have looked. What cannot be removed is a leftover.
  const Status all = first.ok() ? agree(world, status) : first;
  (void)files.remove(own);
  return all;
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
