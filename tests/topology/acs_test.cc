// SPDX-License-Identifier: Apache-2.0

#include "topology/detect/acs.h"

#include <fmt/format.h>

#include "tests/topology/detection.h"
#include "topology/detect/doctor.h"

namespace weir::topology {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uint16_t kRequests = 0x4, kAnswers = 0x8, kForwards = 0x10;
/// What Linux sets for virtual machines: validation of the source besides.
constexpr uint16_t kSetByLinux = 0x1d;

void set(std::string& config, size_t at, uint32_t value, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) config[at + i] = static_cast<char>(value >> 8 * i & 0xff);
}

uint32_t header(uint32_t id, uint32_t next) { return id | 1u << 16 | next << 20; }

/// The space of a port of a switch: error reporting, then ACS with that control.
std::string config_of_port(uint16_t control) {
  std::string config(4096, '\0');
  set(config, 0, 0xc0101000, 4);
  set(config, 0x100, header(0x0001, 0x148), 4);
  set(config, 0x148, header(0x000d, 0), 4);
  set(config, 0x14c, 0x5f, 2);
  set(config, 0x14e, control, 2);
  return config;
}

TEST(AcsControl, IsFoundInTheListOfCapabilities) {
  EXPECT_EQ(acs_control(config_of_port(kSetByLinux)), kSetByLinux);
  EXPECT_EQ(acs_control(config_of_port(0)), 0);
  std::string first = config_of_port(0);
  set(first, 0x100, header(0x000d, 0), 4);
  set(first, 0x106, kRequests, 2);
  EXPECT_EQ(acs_control(first), kRequests);
}

TEST(AcsControl, OfBrokenAndShortSpacesIsNotKnown) {
  const std::string whole = config_of_port(kSetByLinux);
  for (const size_t size : {size_t{0}, size_t{64}, size_t{256}, size_t{0x104}, size_t{0x14c}})
    EXPECT_EQ(acs_control(std::string_view(whole).substr(0, size)), std::nullopt) << size;
  EXPECT_EQ(acs_control(std::string(4096, '\0')), std::nullopt);
  EXPECT_EQ(acs_control(std::string(4096, '\xff')), std::nullopt) << "a device that is gone";
  std::string circle = whole, away = whole, below = whole;
  set(circle, 0x148, header(0x0003, 0x100), 4);
  set(away, 0x100, header(0x0001, 0xffc), 4);
  set(away, 0xffc, header(0x0003, 0x100), 4);
  set(below, 0x100, header(0x0001, 0x040), 4);
  for (const std::string& config : {circle, away, below}) EXPECT_EQ(acs_control(config), std::nullopt);
}

/// Two GPUs and a NIC below ports 2:0.0 to 2:8.0 of a switch at 1:0.0, which is below the root port 0:1.0.
class Acs : public Detection {
 protected:
  void SetUp() override {
    Detection::SetUp();
    const Index numa = graph_.add("0", graph_.add("h", kNone, HostFacts{}), NumaFacts{});
    for (int i = 0; i < 3; ++i) {
      const std::string address = fmt::format("0000:{:02x}:00.0", i + 3);
      link("/sys/bus/pci/devices/" + address, "../../../.." + port(i) + "/" + address);
      put("/root" + port(i) + "/" + address + "/class", "");
      link(fmt::format("/sys/bus/pci/devices/0000:02:{:02x}.0", i * 4), "../../../.." + port(i));
      if (i < 2) {
        GpuFacts gpu;
        gpu.pci.address = address;
        graph_.add(address, numa, gpu);
      } else {
        NicFacts nic;
        nic.pci.address = address;
        graph_.add(address, numa, nic);
      }
    }
    link("/sys/bus/pci/devices/0000:01:00.0", std::string("../../../..") + kSwitch);
    link("/sys/bus/pci/devices/0000:00:01.0", "../../../../sys/devices/pci0000:00/0000:00:01.0");
    put_bytes("/sys/devices/pci0000:00/0000:00:01.0",
              config_of_port(kSetByLinux));  // the root port's do not count
    put_bytes(kSwitch, std::string(4096, '\0'));
  }

  static std::string port(int i) { return fmt::format("{}/0000:02:{:02x}.0", kSwitch, i * 4); }
  void put_bytes(const std::string& folder, const std::string& config) {
    std::filesystem::create_directories(folder_ + "/root" + folder);
    std::ofstream(folder_ + "/root" + folder + "/config", std::ios::binary) << config;
  }
  std::vector<Diagnosis> diagnoses() {
    auto machine = drivers::replay_machine(folder_);
    EXPECT_TRUE(machine.ok()) << machine.status().message();
    return diagnose_host(**machine, graph_);
  }

  static constexpr const char* kSwitch = "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0";
  Graph graph_;
};

TEST_F(Acs, TheDoctorNamesPortsThatRedirect) {
  put_bytes(port(0), config_of_port(kRequests));
  put_bytes(port(1), config_of_port(0));
  put_bytes(port(2), config_of_port(kAnswers | kForwards));
  const auto files = drivers::files_below(folder_ + "/root");
  EXPECT_THAT(find_acs(*files, graph_).redirecting, ElementsAre("0000:02:00.0", "0000:02:08.0"));
  EXPECT_THAT(diagnoses(), ElementsAre(Field(&Diagnosis::finding,
                                             HasSubstr("ACS is enabled at 0000:02:00.0, 0000:02:08.0"))));
  EXPECT_EQ(diagnoses()[0].weight, Diagnosis::Weight::wrong);
}

TEST_F(Acs, WhatIsOffIsNotMentioned) {
  for (int i = 0; i < 3; ++i) put_bytes(port(i), config_of_port(i == 0 ? 0x01 : 0));  // validation alone
  EXPECT_THAT(diagnoses(), IsEmpty());
}

TEST_F(Acs, WithoutRootItIsNotKnown) {
  for (int i = 0; i < 3; ++i) put_bytes(port(i), config_of_port(kSetByLinux).substr(0, 64));
  EXPECT_THAT(diagnoses(),
              ElementsAre(Field(&Diagnosis::finding, HasSubstr("for 3 of their ports only the first 64"))));
}

TEST_F(Acs, ARecordHoldsTheBytes) {
  std::string config = config_of_port(kSetByLinux);
  config.back() = '\n';
  for (int i = 0; i < 3; ++i) put_bytes(port(i), config);
  const auto real = drivers::files_below(folder_ + "/root");
  drivers::RecordedFiles recorded(*real, folder_ + "/again");
  EXPECT_EQ(find_acs(recorded, graph_).redirecting.size(), 3u);
  const auto replayed = drivers::files_below(folder_ + "/again");
  EXPECT_EQ(find_acs(*replayed, graph_).redirecting.size(), 3u);
  EXPECT_EQ(replayed->read_bytes(port(0) + "/config"), config);
}

}  // namespace
}  // namespace weir::topology
