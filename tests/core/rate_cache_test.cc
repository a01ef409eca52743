// SPDX-License-Identifier: Apache-2.0

#include "src/core/planning/rate_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace weir::core {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr cost::Rates kMeasured = {{1.5e-7, 1e-7, 1.0 / 3}, {2e-5, 0, 1e-10}, 3e-11};

/// A folder of its own that goes away.
class RateCacheTest : public ::testing::Test {
 protected:
  RateCacheTest() : top_(fs::path(::testing::TempDir()) / ("weir-rates-" + std::to_string(getpid()))) {}
  ~RateCacheTest() override { fs::remove_all(top_); }

  std::string folder() const { return top_ / "weir"; }
  /// The only file.
  fs::path file() const {
    fs::path found;
    for (const auto& entry : fs::directory_iterator(folder())) {
      EXPECT_TRUE(found.empty()) << found << " and " << entry.path();
      found = entry.path();
    }
    return found;
  }
  std::string text() const {
    std::ifstream in(file(), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void replace(const std::string& text) const { std::ofstream(file(), std::ios::binary) << text; }

  const fs::path top_;
};

TEST_F(RateCacheTest, AreKeptBySubject) {
  const RateCache known(folder(), "8 ranks");
  EXPECT_EQ(known.read(), std::nullopt) << "not measured yet";
  ASSERT_TRUE(known.write(kMeasured).ok());
  EXPECT_EQ(known.read(), kMeasured);
  EXPECT_EQ(RateCache(folder(), "9 ranks").read(), std::nullopt);
  const cost::Rates others = cost::slower(kMeasured, {{1, 0, 0}, {}, 0});
  ASSERT_TRUE(known.write(others).ok());
  EXPECT_EQ(known.read(), others);
  EXPECT_EQ(file().extension(), ".txt") << "drafts do not stay";
}

TEST_F(RateCacheTest, WhatIsBrokenOrForeignDoesNotCount) {
  const RateCache known(folder(), "8 ranks");
  ASSERT_TRUE(known.write(kMeasured).ok());
  const std::string good = text();
  for (const std::string& bad : {std::string(), good.substr(0, good.size() / 2),
                                 "# weir rates 2: 9 ranks\n" + good.substr(good.find('\n') + 1),
                                 good + "gamma x\n", good + "gamma -1\n", std::string(10000, '\0')}) {
    replace(bad);
    EXPECT_EQ(known.read(), std::nullopt) << bad;
  }
  replace(good);
  EXPECT_EQ(known.read(), kMeasured);
}

TEST_F(RateCacheTest, NowhereToWriteIsSaid) {
  const RateCache nowhere("", "8 ranks");
  EXPECT_TRUE(nowhere.write(kMeasured).ok());
  EXPECT_EQ(nowhere.read(), std::nullopt);
  fs::create_directories(top_);
  std::ofstream(folder()) << "a file where the folder should be";
  const RateCache blocked(folder(), "8 ranks");
  EXPECT_THAT(blocked.write(kMeasured).message(),
              AllOf(HasSubstr("measured rates cannot be written to " + folder() + "/rates-"),
                    HasSubstr("directory"), HasSubstr("WEIR_CACHE_DIR")));
  EXPECT_EQ(blocked.read(), std::nullopt);
}

}  // namespace
}  // namespace weir::core
