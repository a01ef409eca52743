// SPDX-License-Identifier: Apache-2.0

#include "src/api/nccl_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "src/api/abi.h"
#include "src/api/newer_struct.h"
#include "tests/core/logged.h"
#include "weir/config.h"

namespace weir::api {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

ncclConfig_t initial() {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  return config;
}

std::string refusal(const ncclConfig_t& config) {
  const auto read = read_config(&config);
  EXPECT_FALSE(read.ok());
  EXPECT_EQ(read.status().code(), Code::invalid_argument);
  return read.status().message();
}

/// Bytes of a caller whose header is older (shorter) or newer (longer) than ours.
std::vector<std::byte> caller_of_size(size_t size, unsigned version) {
  ncclConfig_t config = initial();
  config.size = size;
  config.version = version;
  std::vector<std::byte> bytes(size, std::byte{0x7f});
  std::memcpy(bytes.data(), &config, std::min(size, sizeof(config)));
  return bytes;
}

TEST(Config, InitialValuesAreAccepted) {
  const ncclConfig_t config = initial();
  EXPECT_TRUE(read_config(&config).ok());
  const auto made = communicator_config(&config, nullptr);
  ASSERT_TRUE(made.ok());
  EXPECT_TRUE(made.value().blocking);
  EXPECT_EQ(made.value().name, "");
}

TEST(Config, WrongMagicSaysHowToBegin) {
  ncclConfig_t config = initial();
  config.magic = 7;
  EXPECT_THAT(refusal(config), AllOf(HasSubstr("magic 0x7"), HasSubstr("NCCL_CONFIG_INITIALIZER")));
  config = {};
  EXPECT_THAT(refusal(config), HasSubstr("NCCL_CONFIG_INITIALIZER"));
}

TEST(Config, ShorterStructsOfOlderCallersAreReadAsFarAsTheyReach) {
  for (const size_t size : {20u, 48u, 80u}) {
    auto bytes = caller_of_size(size, NCCL_VERSION(2, 14, 0));
    const int blocking = 0;
    std::memcpy(bytes.data() + offsetof(ncclConfig_t, blocking), &blocking, sizeof(blocking));
    const auto read = read_config(reinterpret_cast<const ncclConfig_t*>(bytes.data()));
    ASSERT_TRUE(read.ok()) << size << ": " << read.status().message();
    EXPECT_EQ(read.value().blocking, 0);
    EXPECT_EQ(read.value().graphUsageMode, NCCL_CONFIG_UNDEF_INT);
  }
}

TEST(Config, LongerStructsOfNewerCallersAreCut) {
  const auto bytes = caller_of_size(sizeof(ncclConfig_t) + 64, NCCL_VERSION(2, 31, 0));
  EXPECT_TRUE(read_config(reinterpret_cast<const ncclConfig_t*>(bytes.data())).ok());
}

/// A caller whose header has one more integer field, with this value.
std::vector<std::byte> caller_of_the_future(int value, size_t* size) {
  *size = offsetof(ncclConfig_t, nvlsHostMode) + 2 * sizeof(int);
  auto bytes = caller_of_size(*size, NCCL_VERSION(2, 99, 0));
  std::memcpy(bytes.data() + *size - sizeof(int), &value, sizeof(value));
  return bytes;
}

TEST(Config, FieldsThatThisLibraryDoesNotKnowAreNamedByTheirPlaces) {
  constexpr size_t kKnown = offsetof(ncclConfig_t, nvlsHostMode) + sizeof(int);
  size_t size = 0;
  const auto sentence = [&](int value) {
    const auto bytes = caller_of_the_future(value, &size);
    return unknown_fields("ncclConfig_t", bytes.data(), size, kKnown, NCCL_VERSION(2, 99, 0));
  };
  EXPECT_THAT(sentence(7), AllOf(HasSubstr("NCCL 2.99.0"), HasSubstr("knows 2.32.3"),
                                 HasSubstr("bytes 116 to 119"), HasSubstr("set are those at 116 (7)")));
  EXPECT_THAT(sentence(NCCL_CONFIG_UNDEF_INT), HasSubstr("none of them is set"));
  const ncclConfig_t own = initial();  // with padding behind the last field
  EXPECT_EQ(unknown_fields("ncclConfig_t", &own, own.size, kKnown, own.version), "");
}

TEST(Config, UnknownFieldsAreLoggedOnce) {
  size_t size = 0;
  const auto bytes = caller_of_the_future(7, &size);
  const core::Logged log;
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(read_config(reinterpret_cast<const ncclConfig_t*>(bytes.data())).ok());
  const std::string text = log.text();
  const size_t first = text.find("set are those at 116 (7)");
  ASSERT_NE(first, std::string::npos) << text;
  EXPECT_EQ(text.find("set are those at", first + 1), std::string::npos) << text;
}

TEST(Config, FieldsNewerThanTheCallersHeaderAreNotLookedAt) {
  ncclConfig_t config = initial();
  config.version = NCCL_VERSION(2, 26, 0);
  config.CTAPolicy = 99;          // since 2.27
  config.nvlinkCentricSched = 9;  // since 2.28
  config.graphUsageMode = 9;      // since 2.29
  config.maxP2pPeers = -9;        // since 2.30
  config.rmaEagerInit = 9;        // since 2.31
  config.nvlsHostMode = 9;        // since 2.32
  EXPECT_TRUE(read_config(&config).ok());
  config.version = NCCL_VERSION(2, 30, 7);
  EXPECT_THAT(refusal(config), HasSubstr("CTAPolicy attribute value 99"));
}

TEST(Config, EveryFieldIsHeldToItsRange) {
  const struct {
    const char* name;
    int ncclConfig_t::*member;
    int bad;
    int good;
  } kCases[] = {
      {"blocking", &ncclConfig_t::blocking, 2, 0},
      {"cgaClusterSize", &ncclConfig_t::cgaClusterSize, -1, 0},
      {"maxCTAs", &ncclConfig_t::maxCTAs, 0, 1},
      {"splitShare", &ncclConfig_t::splitShare, 2, 1},
      {"collnetEnable", &ncclConfig_t::collnetEnable, 2, 1},
      {"CTAPolicy", &ncclConfig_t::CTAPolicy, 4, 3},
      {"shrinkShare", &ncclConfig_t::shrinkShare, -1, 1},
      {"nvlsCTAs", &ncclConfig_t::nvlsCTAs, 0, 1},
      {"nChannelsPerNetPeer", &ncclConfig_t::nChannelsPerNetPeer, 65, 64},
      {"nvlinkCentricSched", &ncclConfig_t::nvlinkCentricSched, 2, 1},
      {"graphUsageMode", &ncclConfig_t::graphUsageMode, 3, 2},
      {"numRmaCtx", &ncclConfig_t::numRmaCtx, -1, 0},
      {"maxP2pPeers", &ncclConfig_t::maxP2pPeers, 0, 1},
      {"graphStreamOrdering", &ncclConfig_t::graphStreamOrdering, 2, 1},
      {"launchOrderImplicit", &ncclConfig_t::launchOrderImplicit, 2, 1},
      {"numRmaSig", &ncclConfig_t::numRmaSig, -1, 0},
      {"rmaEagerInit", &ncclConfig_t::rmaEagerInit, 2, 1},
      {"hostCftMode", &ncclConfig_t::hostCftMode, 4, ncclHostCftFallback},
      {"nvlsHostMode", &ncclConfig_t::nvlsHostMode, 4, ncclNvlsHostModeDisable},
  };
  for (const auto& one : kCases) {
    ncclConfig_t config = initial();
    config.*one.member = one.good;
    EXPECT_TRUE(read_config(&config).ok()) << one.name;
    config.*one.member = one.bad;
    EXPECT_THAT(refusal(config), AllOf(HasSubstr(one.name), HasSubstr(std::to_string(one.bad))));
  }
  ncclConfig_t config = initial();
  config.trafficClass = -5;  // any
  EXPECT_TRUE(read_config(&config).ok());
}

TEST(Config, MinimumAloneExceedsAnUnsetMaximumAsInNccl) {
  ncclConfig_t config = initial();
  config.minCTAs = 2;
  EXPECT_THAT(refusal(config), AllOf(HasSubstr("minCTAs is 2"), HasSubstr("maxCTAs is not set")));
  config.maxCTAs = 1;
  EXPECT_THAT(refusal(config), HasSubstr("maxCTAs is 1"));
  config.maxCTAs = 2;
  EXPECT_TRUE(read_config(&config).ok());
}

TEST(Config, AWeirConfigHasAnOrder) {
  weirConfig_t config = weirConfig();
  const auto order_of = [&](const core::Config* parent) {
    const auto made = communicator_config(&config.nccl, parent);
    EXPECT_TRUE(made.ok()) << made.status().message();
    return made->order;
  };
  core::Config parent;
  parent.order = SumOrder::any;
  EXPECT_EQ(order_of(nullptr), std::nullopt);
  EXPECT_EQ(order_of(&parent), SumOrder::any);
  config.order = weirOrderRanks;
  EXPECT_EQ(order_of(&parent), SumOrder::ranks);
  const ncclConfig_t plain = initial();
  EXPECT_EQ(communicator_config(&plain, &parent)->order, SumOrder::any);
  EXPECT_EQ(communicator_config(nullptr, &parent)->order, SumOrder::any);
  config.order = 3;
  EXPECT_EQ(communicator_config(&config.nccl, nullptr).status().message(),
            "Invalid config order attribute value 3; expected 0 to 2, or -1 for none");
}

/// Callers whose ncclConfig_t is shorter or longer than ours: the order comes last in any case, and is not
/// taken for a field that the caller's header does not have.
TEST(Config, AWeirConfigMayContainAnyVersionOfNccls) {
  for (const size_t size : {48u, 80u, 136u}) {
    auto bytes = caller_of_size(size + 8, NCCL_VERSION(2, 30, 7));
    const struct {
      unsigned mark = WEIR_CONFIG_MARK;
      int order = weirOrderAny;
    } appendix;
    std::memcpy(bytes.data() + size, &appendix, sizeof(appendix));
    const auto* const config = reinterpret_cast<const ncclConfig_t*>(bytes.data());
    const auto made = communicator_config(config, nullptr);
    ASSERT_TRUE(made.ok()) << size << ": " << made.status().message();
    EXPECT_EQ(made->order, SumOrder::any) << size;
    if (size < sizeof(ncclConfig_t)) {
      EXPECT_EQ(read_config(config)->graphUsageMode, NCCL_CONFIG_UNDEF_INT);
    }
  }
}

TEST(Config, WithoutOneTheParentsIsInherited) {
  core::Config parent;
  parent.blocking = false;
  parent.name = "parent";
  const auto inherited = communicator_config(nullptr, &parent);
  ASSERT_TRUE(inherited.ok());
  EXPECT_FALSE(inherited.value().blocking);
  EXPECT_EQ(inherited.value().name, "parent");
  ncclConfig_t own = initial();
  own.commName = "own";
  const auto given = communicator_config(&own, &parent);
  ASSERT_TRUE(given.ok());
  EXPECT_TRUE(given.value().blocking);
  EXPECT_EQ(given.value().name, "own");
}

TEST(Config, BoundsOfCtasAreBoundsOfRings) {
  ncclConfig_t config = initial();
  const auto without = communicator_config(&config, nullptr);
  ASSERT_TRUE(without.ok());
  EXPECT_EQ(without->least_rings, 0u);
  EXPECT_EQ(without->most_rings, 0u);
  config.minCTAs = 2;
  config.maxCTAs = 5;
  const auto given = communicator_config(&config, nullptr);
  ASSERT_TRUE(given.ok());
  EXPECT_EQ(given->least_rings, 2u);
  EXPECT_EQ(given->most_rings, 5u);
}

TEST(Config, NetworkAndTrafficClassReachTheCommunicator) {
  ncclConfig_t config = initial();
  const auto without = communicator_config(&config, nullptr);
  ASSERT_TRUE(without.ok());
  EXPECT_EQ(without.value().network.name, "");
  EXPECT_EQ(without.value().network.traffic_class, -1);
  config.netName = "Fake";
  config.trafficClass = 7;
  const auto given = communicator_config(&config, nullptr);
  ASSERT_TRUE(given.ok());
  EXPECT_EQ(given.value().network.name, "Fake");
  EXPECT_EQ(given.value().network.traffic_class, 7);
}

}  // namespace
}  // namespace weir::api
