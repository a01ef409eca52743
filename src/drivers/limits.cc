// SPDX-License-Identifier: Apache-2.0

#include "src/drivers/limits.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include <cinttypes>
#include <cstdio>

namespace weir::drivers {
namespace {

constexpr const char* kForm = "shm_bytes %" SCNu64 " memlock_bytes %" SCNu64 " open_files %" SCNu64;

uint64_t limit_of(int what) {
  rlimit limit{};
  if (getrlimit(static_cast<__rlimit_resource>(what), &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return Limits::kUnlimited;
  return limit.rlim_cur;
}

}  // namespace

Limits read_limits() {
  Limits limits;
  struct statvfs shm {};
  if (statvfs("/dev/shm", &shm) == 0) limits.shm_bytes = uint64_t{shm.f_blocks} * shm.f_frsize;
  limits.memlock_bytes = limit_of(RLIMIT_MEMLOCK);
  limits.open_files = limit_of(RLIMIT_NOFILE);
  return limits;
}

std::string write_record(const Limits& limits) {
  return fmt::format("shm_bytes {} memlock_bytes {} open_files {}\n", limits.shm_bytes, limits.memlock_bytes,
                     limits.open_files);
}

Result<Limits> read_limits_record(const std::string& text) {
  Limits limits;
  if (std::sscanf(text.c_str(), kForm, &limits.shm_bytes, &limits.memlock_bytes, &limits.open_files) == 3)
    return limits;
  return Status(Code::invalid_argument,
                "cannot parse the record of limits; expected shm_bytes, memlock_bytes and open_files, each "
                "with a number");
}

}  // namespace weir::drivers
