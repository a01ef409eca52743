// SPDX-License-Identifier: Apache-2.0

#include "src/drivers/env_plugin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace weir::drivers {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

const std::string kFolder = WEIR_FAKE_PLUGINS;

/// What the plugin writes, and variables that are unset at the end of the test.
class EnvPlugins : public ::testing::Test {
 protected:
  EnvPlugins() {
    char name[] = "/tmp/weir_env_XXXXXX";
    folder_ = mkdtemp(name);
    setenv("FAKE_ENV_FILE", (folder_ + "/calls").c_str(), 1);
  }
  ~EnvPlugins() override {
    unsetenv("FAKE_ENV_FILE");
    unsetenv("FAKE_ENV_INIT");
    unsetenv("FAKE_NCCL_ALGO");
    std::filesystem::remove_all(folder_);
  }
  std::string calls() const {
    std::ostringstream text;
    text << std::ifstream(folder_ + "/calls").rdbuf();
    return text.str();
  }
  static std::string file(int version) {
    return kFolder + "/libnccl-env-fake" + std::to_string(version) + ".so";
  }

 private:
  std::string folder_;
};

TEST_F(EnvPlugins, OfBothVersionsAreBegunAskedAndEnded) {
  setenv("FAKE_NCCL_ALGO", "ring", 1);
  for (const int version : {1, 2}) {
    const auto plugin = EnvPlugin::load({.plugin = file(version), .version = 22809, .suffix = "+x"});
    ASSERT_TRUE(plugin.ok() && *plugin != nullptr) << plugin.status().message();
    EXPECT_EQ((*plugin)->plugin_name(), "fake env");
    EXPECT_EQ((*plugin)->version(), version);
    EXPECT_EQ((*plugin)->value("NCCL_ALGO"), "ring");
    EXPECT_EQ((*plugin)->value("NCCL_PROTO"), std::nullopt);
  }
  EXPECT_EQ(calls(), "init 2.28.9+x\nfinalize\ninit 2.28.9+x\nfinalize\n");
}

TEST_F(EnvPlugins, ThatCannotBeUsedSayWhy) {
  setenv("FAKE_ENV_INIT", "3", 1);
  EXPECT_THAT(EnvPlugin::load({.plugin = file(2)}).status().message(),
              EndsWith("libnccl-env-fake2.so, version 2): init failed with result 3 (internal error)"));
  EXPECT_THAT(calls(), Not(HasSubstr("finalize")));
  EXPECT_THAT(EnvPlugin::load({.plugin = "nobody"}).status().message(),
              HasSubstr("NCCL_ENV_PLUGIN=nobody: could not find nobody, libnccl-env-nobody.so"));
  for (const char* const name : {"", "none"}) {
    const auto none = EnvPlugin::load({.plugin = name});
    ASSERT_TRUE(none.ok()) << none.status().message();
    EXPECT_EQ(*none, nullptr);
  }
}

}  // namespace
}  // namespace weir::drivers
