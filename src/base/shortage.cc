// SPDX-License-Identifier: Apache-2.0

#include "src/base/shortage.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <cerrno>
#include <system_error>

namespace weir {
namespace {

std::string limit_of_descriptors() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return fmt::format("this process has no file descriptors left: its limit is {}, which ulimit -n raises",
                     limit.rlim_cur);
}

}  // namespace

bool is_shortage(int error) {
  return error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS;
}

std::string system_words(int error) {
  switch (error) {
    case EMFILE: return limit_of_descriptors();
    case ENFILE:
      return "this host has no file descriptors left for all its processes; sysctl fs.file-max raises the "
             "limit";
    case ENOMEM:
    case ENOBUFS:
      return "this process gets no more memory from the system; ulimit -v, the control group (memory.max) or "
             "the host may limit it";
    default: return std::generic_category().message(error);
  }
}

Status system_failure(const std::string& what, int error) {
  std::string words = fmt::format("{}: {}", what, system_words(error));
  return is_shortage(error) ? Status::shortage(std::move(words))
                            : Status(Code::system_error, std::move(words));
}

}  // namespace weir
