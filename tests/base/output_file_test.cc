// SPDX-License-Identifier: Apache-2.0

#include "src/base/output_file.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace weir {
namespace {

using ::testing::EndsWith;
using ::testing::StartsWith;

class OutputFile : public ::testing::Test {
 protected:
  OutputFile() {
    char folder[] = "/tmp/weir_output_XXXXXX";
    folder_ = mkdtemp(folder);
  }
  ~OutputFile() override { std::filesystem::remove_all(folder_); }

  std::string in(const std::string& name) const { return folder_ + "/" + name; }
  static std::string content(const std::string& path) {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }

  std::string folder_;
};

TEST_F(OutputFile, TryingChangesNothing) {
  EXPECT_TRUE(try_output_file(in("new")).ok());
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
  ASSERT_TRUE(write_output_file(in("old"), "what was there").ok());
  EXPECT_TRUE(try_output_file(in("old")).ok());
  EXPECT_EQ(content(in("old")), "what was there");
  ASSERT_TRUE(write_output_file(in("old"), "less").ok());
  EXPECT_EQ(content(in("old")), "less");
}

TEST_F(OutputFile, SaysWhyNot) {
  ASSERT_TRUE(write_output_file(in("file"), "").ok());
  for (const auto& [path, why] : {std::pair(folder_, "Is a directory"),
                                  {in("no/such/folder"), "No such file or directory"},
                                  {in("file/below"), "Not a directory"},
                                  {std::string(), "No such file or directory"}}) {
    for (const Status& status : {try_output_file(path), write_output_file(path, "text")}) {
      EXPECT_EQ(status.code(), Code::system_error) << path;
      EXPECT_THAT(status.message(), StartsWith(path + " cannot be written: ")) << path;
      EXPECT_THAT(status.message(), EndsWith(why)) << path;
    }
  }
}

TEST_F(OutputFile, ADiskThatIsFullIsAnError) {
  EXPECT_TRUE(try_output_file("/dev/full").ok());
  EXPECT_THAT(write_output_file("/dev/full", "text").message(), EndsWith("No space left on device"));
}

/// Opening a pipe that nobody reads would block.
TEST_F(OutputFile, APipeIsNotOpened) {
  ASSERT_EQ(mkfifo(in("pipe").c_str(), 0600), 0);
  EXPECT_TRUE(try_output_file(in("pipe")).ok());
}

}  // namespace
}  // namespace weir
