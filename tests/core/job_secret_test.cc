// SPDX-License-Identifier: Apache-2.0

#include "src/core/bootstrap/job_secret.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace weir::core {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class JobSecret : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / "weir_job_secret_XXXXXX";
    std::string name = folder_;
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& text, mode_t mode) const {
    const std::string path = folder_ / "secret";
    std::ofstream(path) << text;
    EXPECT_EQ(chmod(path.c_str(), mode), 0);
    return path;
  }

  std::filesystem::path folder_;
};

TEST_F(JobSecret, ComesFromAFileOrAText) {
  EXPECT_EQ(*job_secret("", "sesame"), Secret::from_text("sesame"));
  EXPECT_EQ(*job_secret(write("sesame\n", 0600), "another"), Secret::from_text("sesame"));
  EXPECT_EQ(*job_secret(write("sesame", 0400), ""), Secret::from_text("sesame"));
  EXPECT_TRUE(job_secret("", "")->is_public());
}

TEST_F(JobSecret, AFileThatOthersMayReadIsRefused) {
  for (const mode_t mode : {0640, 0604, 0660, 0601}) {
    const Status status = job_secret(write("sesame", mode), "").status();
    EXPECT_EQ(status.code(), Code::invalid_usage) << mode;
    EXPECT_THAT(status.message(), AllOf(HasSubstr("chmod 600"), HasSubstr(folder_.string())));
  }
}

TEST_F(JobSecret, AFileWithoutASecretIsRefused) {
  EXPECT_THAT(job_secret(write(" \n", 0600), "").status().message(), HasSubstr("expected a secret of 1 to"));
  EXPECT_THAT(job_secret(write(std::string(5000, 'x'), 0600), "").status().message(), HasSubstr("4096"));
  EXPECT_EQ(job_secret(folder_ / "none", "").status().code(), Code::system_error);
}

TEST_F(JobSecret, NoSentenceShowsIt) {
  for (const auto& [text, mode] : {std::pair{"sesame", 0644}, {"sesame", 0600}}) {
    const auto read = job_secret(write(text, static_cast<mode_t>(mode)), "sesame");
    EXPECT_THAT(read.status().message(), ::testing::Not(HasSubstr("sesame")));
  }
}

}  // namespace
}  // namespace weir::core
