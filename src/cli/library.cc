// SPDX-License-Identifier: Apache-2.0

#include "src/cli/library.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

namespace weir::cli {

Result<std::string> find_nccl_library() {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  const fs::path prefix = self.parent_path().parent_path();
  for (const char* folder : {"lib/nccl-compat", WEIR_INSTALL_LIBDIR "/nccl-compat", "lib"}) {
    const fs::path candidate = prefix / folder / "libnccl.so.2";
    if (fs::exists(candidate, error)) return candidate.string();
  }
  return Status(Code::invalid_usage,
                fmt::format("no libnccl.so.2 below {}; expected --preload=PATH with its path",
                            (prefix / "lib").string()));
}

}  // namespace weir::cli
