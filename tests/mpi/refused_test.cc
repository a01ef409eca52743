// SPDX-License-Identifier: Apache-2.0
// The names that libweir_mpi.so has only because MPItrampoline looks them up.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "tests/mpi/job.h"

namespace weir::testing {
namespace {

using ::testing::HasSubstr;

/// Names of names.txt by kind.
std::multimap<std::string, std::string> names() {
  std::multimap<std::string, std::string> all;
  std::ifstream file(WEIR_MPI_NAMES);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string kind, name;
    if (!(words >> kind) || kind[0] == '#') continue;
    while (words >> name) {
      all.emplace(kind, name);
      if (kind == "value") break;  // a number follows
    }
  }
  return all;
}

void* address_of(const std::string& kind, const std::string& name) {
  return dlsym(RTLD_DEFAULT, ((kind == "extension" ? "MPIXABI_" : "MPIABI_") + name).c_str());
}

TEST(Names, AllAreThere) {
  EXPECT_GE(names().size(), 634u);
  for (const auto& [kind, name] : names()) EXPECT_NE(address_of(kind, name), nullptr) << name;
  for (const char* name :
       {"mpiabi_version_major", "mpiabi_version_minor", "mpiabi_version_patch", "mpiwrapper_version_major",
        "mpiwrapper_version_minor", "mpiwrapper_version_patch", "mpiwrapper_export_fortran_constants_"})
    EXPECT_NE(dlsym(RTLD_DEFAULT, name), nullptr) << name;
}

TEST(Names, HandlesAndErrorsDiffer) {
  std::set<uintptr_t> handles;
  std::set<int> errors;
  for (const auto& [kind, name] : names()) {
    void* const address = address_of(kind, name);
    if (kind == "handle") {
      EXPECT_TRUE(handles.insert(*static_cast<uintptr_t*>(address)).second) << name;
    } else if (kind == "error") {
      EXPECT_TRUE(errors.insert(*static_cast<int*>(address)).second) << name;
    } else if (kind == "null") {
      EXPECT_EQ(*static_cast<uintptr_t*>(address), 0u) << name;
    }
  }
  EXPECT_EQ(MPIABI_SUCCESS, 0);
}

TEST(Names, FunctionsThatAreNotOfferedSaySoOnce) {
  const std::vector<Ending> endings = run_ranks(1, [](const Rank&) {
    for (int turn = 0; turn < 2; ++turn)
      for (const auto& [kind, name] : names()) {
        if (kind != "refused" && kind != "refused_handle") continue;
        const auto call = reinterpret_cast<intptr_t (*)()>(address_of(kind, name));
        const auto code = static_cast<int>(call());
        EXPECT_EQ(code, kind == "refused" ? MPIABI_ERR_UNSUPPORTED_OPERATION : 0) << name;
        EXPECT_THAT(
            error_string(MPIABI_ERR_UNSUPPORTED_OPERATION),
            HasSubstr("MPI_" + name + " is not offered by libweir_mpi.so, which has the calls of JAX"));
      }
  });
  EXPECT_TRUE(all_well(endings));
  const std::string& text = endings[0].output;
  for (const auto& [kind, name] : names()) {
    const std::string line = "weir: MPI_" + name + " is not offered";
    const size_t first = text.find(line);
    EXPECT_EQ(first != std::string::npos, kind == "refused" || kind == "refused_handle") << name;
    if (first == std::string::npos) continue;
    EXPECT_EQ(text.find(line, first + 1), std::string::npos) << name;
  }
}

TEST(Names, VersionsAndTimes) {
  char text[8192];
  int length = 0, version = 0, subversion = 0, level = -1, error_class = -1;
  MPIABI_Get_library_version(text, &length);
  EXPECT_THAT(text, HasSubstr("libweir_mpi "));
  EXPECT_EQ(std::string(text).size(), static_cast<size_t>(length));
  MPIABI_Get_version(&version, &subversion);
  EXPECT_EQ(version, 3);
  MPIABI_Query_thread(&level);
  EXPECT_EQ(level, MPIABI_THREAD_MULTIPLE);
  MPIABI_Error_class(MPIABI_ERR_TAG, &error_class);
  EXPECT_EQ(error_class, MPIABI_ERR_TAG);
  const double then = MPIABI_Wtime();
  EXPECT_GE(MPIABI_Wtime(), then);
  EXPECT_GT(MPIABI_Wtick(), 0);
  EXPECT_EQ(mpiabi_version_major, 2);
  EXPECT_GE(mpiabi_version_minor, 9);
}

}  // namespace
}  // namespace weir::testing
