// SPDX-License-Identifier: Apache-2.0

#include "src/drivers/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace weir::drivers {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Bytes that do not occur in text, and trailing blanks.
const std::string kConfig("\x86\x80\0\r\n\0\xff \n", 9);

/// A small /sys with links, in a folder that is removed after the test.
class FilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/weir-files-XXXXXX";
    base_ = mkdtemp(name);
    root_ = base_ + "/machine";
    fs::create_directories(root_ + "/sys/devices/pci0000:00/0000:00:03.0/net/eth0");
    fs::create_directories(root_ + "/sys/class/net");
    std::ofstream(root_ + "/sys/devices/pci0000:00/0000:00:03.0/class") << "0x020000\n";
    std::ofstream(root_ + "/sys/devices/pci0000:00/0000:00:03.0/config") << kConfig;
    std::ofstream(root_ + "/sys/devices/pci0000:00/0000:00:03.0/net/eth0/speed") << "25000 \n\n";
    fs::create_symlink("../../devices/pci0000:00/0000:00:03.0/net/eth0", root_ + "/sys/class/net/eth0");
    fs::create_symlink("../../../0000:00:03.0",
                       root_ + "/sys/devices/pci0000:00/0000:00:03.0/net/eth0/device");
    fs::create_symlink("/sys/class", root_ + "/absolute");
    fs::create_symlink("/etc/passwd", root_ + "/escape");
    fs::create_symlink("../../../../../../../etc", root_ + "/above");
    fs::create_symlink("loop", root_ + "/loop");
  }
  void TearDown() override { fs::remove_all(base_); }

  void expect_the_machine(Files& files) {
    EXPECT_EQ(files.read("/sys/class/net/eth0/speed"), "25000");
    EXPECT_EQ(files.read("/sys/class/net/eth0/device/class"), "0x020000");
    EXPECT_EQ(files.real_path("/sys/class/net/eth0/device"), "/sys/devices/pci0000:00/0000:00:03.0");
    EXPECT_THAT(files.list("/sys/class/net"), ElementsAre("eth0"));
    EXPECT_THAT(files.list("/sys/devices/pci0000:00/0000:00:03.0"), ElementsAre("class", "config", "net"));
    EXPECT_EQ(files.read("/absolute/net/eth0/speed"), "25000");
    EXPECT_EQ(files.read_bytes("/sys/class/net/eth0/device/config"), kConfig);
  }
  void expect_nothing_else(Files& files) {
    EXPECT_EQ(files.read("/escape"), std::nullopt) << "leads out of the root";
    EXPECT_EQ(files.read("/above/passwd"), std::nullopt);
    EXPECT_EQ(files.read("/loop"), std::nullopt);
    EXPECT_EQ(files.read("/sys/class/net"), std::nullopt) << "a folder";
    EXPECT_EQ(files.read("/none"), std::nullopt);
    EXPECT_THAT(files.list("/none"), IsEmpty());
    EXPECT_EQ(files.real_path("/sys/none"), std::nullopt);
  }

  std::string base_, root_;
};

TEST_F(FilesTest, LinksStayBelowTheRoot) {
  const auto files = files_below(root_ + "/");
  expect_the_machine(*files);
  expect_nothing_else(*files);
}

TEST_F(FilesTest, ARecordedMachineAnswersAlike) {
  const auto real = files_below(root_);
  RecordedFiles recorded(*real, base_ + "/record");
  expect_the_machine(recorded);
  expect_nothing_else(recorded);
  EXPECT_TRUE(recorded.error().ok()) << recorded.error().message();
  fs::rename(base_ + "/record", base_ + "/moved");
  fs::remove_all(root_);
  const auto replayed = files_below(base_ + "/moved");
  expect_the_machine(*replayed);
  expect_nothing_else(*replayed);
}

TEST_F(FilesTest, AFolderIsListedOrTheReasonIsTold) {
  fs::create_directories(base_ + "/folder/inner");
  std::ofstream(base_ + "/folder/a") << "text";
  const auto names = list_folder(base_ + "/folder");
  ASSERT_TRUE(names.ok()) << names.status().message();
  EXPECT_EQ(*names, (std::vector<std::string>{"a", "inner"}));
  for (const char* const path : {"/none", "/folder/a"}) {
    const Status why = list_folder(base_ + path).status();
    EXPECT_EQ(why.code(), Code::system_error);
    EXPECT_NE(why.message().find(base_ + path + " cannot be read: "), std::string::npos) << why.message();
  }
}

TEST_F(FilesTest, ARecordThatCannotBeWrittenIsTold) {
  std::ofstream(base_ + "/file") << "in the way";
  const auto real = files_below(root_);
  RecordedFiles recorded(*real, base_ + "/file");
  EXPECT_EQ(recorded.read("/sys/class/net/eth0/speed"), "25000");
  EXPECT_EQ(recorded.error().code(), Code::system_error);
}

}  // namespace
}  // namespace weir::drivers
