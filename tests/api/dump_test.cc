// SPDX-License-Identifier: Apache-2.0
/// The function of weir/dump.h. What is in the file: tests/core/process_report_test.cc.
#include "weir/dump.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/api/ranks.h"

namespace weir::api {
namespace {

using ::testing::HasSubstr;

TEST(Dump, WritesWhatTheProcessDoes) {
  const Alone comm;
  char folder[] = "/tmp/weir-dump-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string path = std::string(folder) + "/of-%p.json";
  EXPECT_EQ(weirDump(path.c_str()), ncclSuccess) << last_sentence();
  std::ifstream file(std::string(folder) + "/of-" + std::to_string(getpid()) + ".json");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  EXPECT_THAT(text, HasSubstr("\"format\":\"weir report 1\""));
  EXPECT_THAT(text, HasSubstr("\"ranks\":1"));
  std::filesystem::remove_all(folder);
}

TEST(Dump, SaysWhatIsWrong) {
  EXPECT_EQ(weirDump(nullptr), ncclInvalidArgument);
  EXPECT_EQ(weirDump(""), ncclInvalidArgument);
  EXPECT_EQ(weirDump("/no/such/folder/file"), ncclSystemError);
  EXPECT_THAT(last_sentence(), HasSubstr("/no/such/folder/file cannot be written"));
}

}  // namespace
}  // namespace weir::api
