// SPDX-License-Identifier: Apache-2.0

#include "src/drivers/tuner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace weir::drivers {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string kFolder = WEIR_FAKE_PLUGINS;

/// Settings of the fake plugins until the end of the test, and the output of the plugins.
class TunerPlugin : public ::testing::Test {
 protected:
  TunerPlugin() {
    char name[] = "/tmp/weir_tuner_XXXXXX";
    folder_ = mkdtemp(name);
    set("FAKE_TUNER_FILE", folder_ + "/calls");
  }
  ~TunerPlugin() override {
    for (const std::string& name : set_) unsetenv(name.c_str());
    std::filesystem::remove_all(folder_);
  }
  void set(const std::string& name, const std::string& value) {
    setenv(name.c_str(), value.c_str(), 1);
    set_.push_back(name);
  }
  std::string calls() const {
    std::ostringstream text;
    text << std::ifstream(folder_ + "/calls").rdbuf();
    return text.str();
  }
  static TunerSpec spec(const std::string& plugin) {
    return {.plugin = plugin,
            .net_plugins = "none",
            .communicator = 77,
            .ranks = 6,
            .nodes = 2,
            .least_ranks_per_node = 2,
            .most_ranks_per_node = 4};
  }

 private:
  std::string folder_;
  std::vector<std::string> set_;
};

TEST_F(TunerPlugin, OfAnyVersionIsBegunAskedAndEnded) {
  set("FAKE_TUNER_ANSWERS", "4:1:2:3:100:200");
  for (const int version : {2, 3, 4, 5, 6}) {
    auto tuner = Tuner::load(spec(kFolder + "/libnccl-tuner-fake" + std::to_string(version) + ".so"));
    ASSERT_TRUE(tuner.ok()) << tuner.status().message();
    ASSERT_NE(*tuner, nullptr);
    EXPECT_EQ((*tuner)->plugin_name(), "fake tuner");
    EXPECT_EQ((*tuner)->version(), version);
    TunedCosts costs;
    costs.at(TunedAlgorithm::ring, TunedProtocol::simple) = 12.5;
    costs.at(TunedAlgorithm::tree, TunedProtocol::ll) = 3;
    TunedCosts wanted = costs;
    int channels = -1;
    EXPECT_TRUE((*tuner)->ask(TunedFunction::all_reduce, 99, costs, channels).ok());
    EXPECT_EQ(costs, wanted);
    EXPECT_EQ(channels, 0);
    EXPECT_TRUE((*tuner)->ask(TunedFunction::all_reduce, 100, costs, channels).ok());
    wanted.at(TunedAlgorithm::ring, TunedProtocol::simple) = 0;
    EXPECT_EQ(costs, wanted);
    EXPECT_EQ(channels, 3);
  }
  const std::string costs = " 3 -1 -1 -1 -1 12.5" + [] {
    std::string rest;
    for (int i = 0; i < 15; ++i) rest += " -1";
    return rest;
  }();
  const std::string asked = "ask 4 of 99:" + costs + "\nask 4 of 100:" + costs + "\nfinalize\n";
  const std::string none = ": collnet 0 nvls 0\n";
  const std::string older = "init 6 ranks 2 nodes\n";
  const std::string newer = "init 6 ranks 2 nodes, 2 domains of 2 to 4 ranks, tree 8.4 us, 80 GB/s\n";
  EXPECT_EQ(calls(), older + "ask 4 of 99" + none + "ask 4 of 100" + none + "finalize\n" + older + asked +
                         older + asked + newer + asked + newer + asked);
}

TEST_F(TunerPlugin, OfVersionSixChangesChunks) {
  set("FAKE_TUNER_CHUNK", "4096");
  for (const int version : {5, 6}) {
    auto tuner = Tuner::load(spec(kFolder + "/libnccl-tuner-fake" + std::to_string(version) + ".so"));
    ASSERT_TRUE(tuner.ok() && *tuner != nullptr) << tuner.status().message();
    size_t chunk = 9999;
    EXPECT_TRUE(
        (*tuner)
            ->ask_chunk(TunedFunction::all_gather, 77, TunedAlgorithm::pat, TunedProtocol::simple, 2, chunk)
            .ok());
    EXPECT_EQ(chunk, version == 6 ? 4096u : 9999u);
    if (version == 5) continue;
    const Status failed = (*tuner)->ask_chunk(TunedFunction::all_gather, 77, TunedAlgorithm::pat,
                                              TunedProtocol::simple, 0, chunk);
    EXPECT_THAT(failed.message(), EndsWith("version 6): getChunkSize failed with result 3 (internal error)"));
  }
  EXPECT_THAT(calls(), HasSubstr("chunk 2 of 77 by 6 2 over 2: 9999\n"));
}

TEST_F(TunerPlugin, OfVersionTwoNamesWhatIsThereOrNot) {
  set("FAKE_TUNER_ANSWERS", "4:4:2:0:0:9;4:7:2:0:10:19;4:0:3:0:20:29;4:0:-1:0:30:39");
  auto tuner = Tuner::load(spec(kFolder + "/libnccl-tuner-fake2.so"));
  ASSERT_TRUE(tuner.ok() && *tuner != nullptr) << tuner.status().message();
  TunedCosts offered;
  offered.at(TunedAlgorithm::collnet_chain, TunedProtocol::simple) = 7;
  offered.at(TunedAlgorithm::nvls_tree, TunedProtocol::simple) = 8;
  int channels = 0;
  for (const size_t bytes : {5, 15, 25, 35}) {
    TunedCosts costs = offered;
    EXPECT_TRUE((*tuner)->ask(TunedFunction::all_reduce, bytes, costs, channels).ok());
    TunedCosts wanted = offered;
    if (bytes == 5) wanted.at(TunedAlgorithm::nvls, TunedProtocol::simple) = 0;
    EXPECT_EQ(costs, wanted) << bytes << ": what NCCL does not have counts for nothing";
  }
  EXPECT_THAT(calls(), HasSubstr("ask 4 of 5: collnet 1 nvls 1"));
}

TEST_F(TunerPlugin, ThatFailsSaysHow) {
  set("FAKE_TUNER_INIT", "3");
  const auto failed = Tuner::load(spec(kFolder + "/libnccl-tuner-fake5.so"));
  EXPECT_EQ(failed.status().code(), Code::internal_error);
  EXPECT_THAT(
      failed.status().message(),
      AllOf(StartsWith("tuner plugin fake tuner ("),
            EndsWith("libnccl-tuner-fake5.so, version 5): init failed with result 3 (internal error)")));
  EXPECT_THAT(calls(), Not(HasSubstr("finalize")));
  set("FAKE_TUNER_INIT", "0");
  set("FAKE_TUNER_RESULT", "5");
  const auto tuner = Tuner::load(spec(kFolder + "/libnccl-tuner-fake4.so"));
  ASSERT_TRUE(tuner.ok() && *tuner != nullptr);
  TunedCosts costs;
  int channels = 0;
  const Status asked = (*tuner)->ask(TunedFunction::reduce, 1, costs, channels);
  EXPECT_EQ(asked.code(), Code::invalid_usage);
  EXPECT_THAT(asked.message(), EndsWith("version 4): getCollInfo failed with result 5 (invalid usage)"));
}

TEST_F(TunerPlugin, IsFoundByItsName) {
  for (const char* const name : {"fake5", "libnccl-tuner-fake5.so"}) {
    const auto tuner = Tuner::load(spec(name));
    ASSERT_TRUE(tuner.ok() && *tuner != nullptr) << tuner.status().message();
    EXPECT_EQ((*tuner)->version(), 5);
  }
  const auto none = Tuner::load(spec("nobody"));
  EXPECT_EQ(
      none.status().message(),
      "NCCL_TUNER_PLUGIN=nobody: could not find nobody, libnccl-tuner-nobody.so, librccl-tuner-nobody.so");
  const auto other = Tuner::load(spec(kFolder + "/libnccl-net-fake11.so"));
  EXPECT_THAT(other.status().message(), EndsWith("exports none of ncclTunerPlugin_v2 to _v6"));
}

TEST_F(TunerPlugin, IsNoMatterWhereNoneIsAskedFor) {
  for (const char* const name : {"", "none", "NONE"}) {
    const auto tuner = Tuner::load(spec(name));
    EXPECT_TRUE(tuner.ok()) << tuner.status().message();
    EXPECT_EQ(*tuner, nullptr);
  }
}

TEST_F(TunerPlugin, MayBeInANetPluginThatIsLoaded) {
  TunerSpec mixed = spec("");
  mixed.net_plugins = "nobody,mixed";
  const auto before = Tuner::load(mixed);
  ASSERT_TRUE(before.ok());
  EXPECT_EQ(*before, nullptr) << "no network has loaded it";
  const auto loaded = Library::open("libnccl-net-mixed.so");
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  for (const char* const name : {"", "nobody"}) {
    mixed.plugin = name;
    const auto after = Tuner::load(mixed);
    ASSERT_TRUE(after.ok() && *after != nullptr) << after.status().message();
    EXPECT_EQ((*after)->version(), 5);
  }
}

}  // namespace
}  // namespace weir::drivers
