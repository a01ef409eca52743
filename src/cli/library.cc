// SPDX-License-Identifier: Apache-2.0

#include "src/cli/library.h"

#include <fmt/format.h>

#include <filesystem>
#include <initializer_list>
#include <string_view>
#include <system_error>

namespace weir::cli {

namespace {

namespace fs = std::filesystem;

/// The first of the folders that has the file. `otherwise`: what the user can do.
Result<std::string> find_library(const char* name, std::initializer_list<const char*> folders,
                                 std::string_view otherwise) {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  const fs::path prefix = self.parent_path().parent_path();
  for (const char* folder : folders) {
    const fs::path candidate = prefix / folder / name;
    if (fs::exists(candidate, error)) return candidate.string();
  }
  return Status(Code::invalid_usage,
                fmt::format("no {} below {}; {}", name, (prefix / "lib").string(), otherwise));
}

}  // namespace

Result<std::string> find_nccl_library() {
  return find_library("libnccl.so.2", {"lib/nccl-compat", WEIR_INSTALL_LIBDIR "/nccl-compat", "lib"},
                      "expected --preload=PATH with its path");
}

Result<std::string> find_heap_library() {
  return find_library("libweir_heap.so", {WEIR_INSTALL_LIBDIR, "lib"},
                      "expected it there, where this program was built or installed");
}

}  // namespace weir::cli
