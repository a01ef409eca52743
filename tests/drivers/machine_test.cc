// SPDX-License-Identifier: Apache-2.0

#include "src/drivers/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

namespace weir::drivers {
namespace {

using ::testing::HasSubstr;

TEST(Machine, ARecordAnswersLikeTheMachine) {
  char name[] = "/tmp/weir-machine-XXXXXX";
  const std::string folder = std::string(mkdtemp(name)) + "/record";
  auto recorded = record_machine(folder);
  ASSERT_TRUE(recorded.ok()) << recorded.status().message();
  Result<std::string> xml = (*recorded)->hwloc_xml();
  ASSERT_TRUE(xml.ok()) << xml.status().message();
  EXPECT_THAT(*xml, HasSubstr("<topology version=\"2.0\">"));
  const auto nodes = (*recorded)->files().list("/sys/devices/system/node");
  EXPECT_FALSE(nodes.empty());
  const auto cpus = (*recorded)->files().read("/sys/devices/system/cpu/online");
  const Limits limits = *(*recorded)->limits();
  EXPECT_GT(limits.open_files, 0u);
  EXPECT_TRUE((*recorded)->error().ok()) << (*recorded)->error().message();

  auto replayed = replay_machine(folder);
  ASSERT_TRUE(replayed.ok()) << replayed.status().message();
  while (xml->ends_with('\n')) xml->pop_back();
  EXPECT_EQ(*(*replayed)->hwloc_xml(), *xml);
  EXPECT_EQ((*replayed)->files().list("/sys/devices/system/node"), nodes);
  EXPECT_EQ((*replayed)->files().read("/sys/devices/system/cpu/online"), cpus);
  EXPECT_EQ(*(*replayed)->limits(), limits);
  EXPECT_EQ((*replayed)->files().read("/proc/version"), std::nullopt) << "was not asked for";
  std::filesystem::remove_all(std::filesystem::path(folder).parent_path());
}

TEST(Limits, RecordsAreChecked) {
  for (const char* text : {"", "shm_bytes 1", "shm_bytes x memlock_bytes 1 open_files 1"})
    EXPECT_EQ(read_limits_record(text).status().code(), Code::invalid_argument) << text;
}

TEST(Machine, FoldersThatAreNoRecords) {
  EXPECT_EQ(replay_machine("/none").status().code(), Code::invalid_argument);
  EXPECT_THAT(replay_machine("/tmp").status().message(), HasSubstr("/tmp is not a recorded machine"));
  EXPECT_EQ(record_machine("/proc/none").status().code(), Code::system_error);
}

}  // namespace
}  // namespace weir::drivers
