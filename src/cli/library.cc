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

Result<std::vector<std::string>> find_stand_ins() {
  std::vector<std::string> found;
  for (const char* const name : {"libcuda.so.1", "libcudart.so.13", "libcudart.so.12"}) {
    auto one =
        find_library(name, {WEIR_INSTALL_LIBDIR "/weir-stand-in", "tests/fake_cuda"},
                     "expected the stand-ins of CUDA there, where this program was built or installed");
    WEIR_TRY(one.status());
    found.push_back(std::move(*one));
  }
  return found;
}

}  // namespace weir::cli
