// SPDX-License-Identifier: Apache-2.0
// ncclSetEncryption and WEIR_TLS, and jobs whose sockets are encrypted.
#include <sys/wait.h>
#include <unistd.h>

#include "src/api/process.h"
#include "src/core/communicator/runtime.h"
#include "tests/api/ranks.h"

namespace weir::api {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kSecret = "0123456789abcdef0123456789abcdef";  // 32 bytes

class Encryption : public ::testing::Test {
 protected:
  ~Encryption() override { EXPECT_EQ(ncclSetEncryption(nullptr), ncclSuccess); }

  ncclResult_t set(int mode, const char* psk) {
    config_.mode = mode;
    config_.psk = psk;
    return ncclSetEncryption(&config_);
  }
  static ncclResult_t new_id() {
    ncclUniqueId id;
    return ncclGetUniqueId(&id);
  }

  ncclEncryptionConfig_t config_ = NCCL_ENCRYPTION_CONFIG_INITIALIZER;
};

TEST_F(Encryption, WrongValuesAreNamed) {
  EXPECT_EQ(set(2, kSecret), ncclInvalidArgument);
  EXPECT_THAT(last_sentence(), AllOf(HasSubstr("ncclSetEncryption : invalid mode 2"), HasSubstr("MODE_PSK")));
  EXPECT_EQ(set(NCCL_ENCRYPTION_MODE_PSK, nullptr), ncclInvalidArgument);
  EXPECT_THAT(last_sentence(), HasSubstr("psk is NULL"));
  EXPECT_EQ(set(NCCL_ENCRYPTION_MODE_PSK, kSecret + 1), ncclInvalidArgument);
  EXPECT_THAT(last_sentence(), AllOf(HasSubstr("31 bytes"), HasSubstr("at least 32")));
  EXPECT_EQ(new_id(), ncclSuccess) << "what was refused changes nothing";
}

TEST_F(Encryption, AStructureThatNobodyInitializedIsRefused) {
  config_.magic = 1;
  EXPECT_EQ(set(NCCL_ENCRYPTION_MODE_PSK, kSecret), ncclInvalidArgument);
  EXPECT_THAT(last_sentence(),
              AllOf(HasSubstr("magic 0x1;"), HasSubstr("NCCL_ENCRYPTION_CONFIG_INITIALIZER")));
  config_ = NCCL_ENCRYPTION_CONFIG_INITIALIZER;
  config_.size = 24;
  EXPECT_EQ(set(NCCL_ENCRYPTION_MODE_PSK, kSecret), ncclInvalidArgument);
  EXPECT_THAT(last_sentence(), AllOf(HasSubstr("size 24;"), HasSubstr("at least 32")));
  EXPECT_EQ(new_id(), ncclSuccess);
}

TEST_F(Encryption, ALaterVersionsLongerStructureIsRead) {
  config_.size = 48;
  config_.version = 99999;
  EXPECT_EQ(set(NCCL_ENCRYPTION_MODE_PSK, kSecret), ncclSuccess);
  EXPECT_EQ(new_id(), ncclSuccess);
}

TEST_F(Encryption, AJobRuns) {
  ASSERT_EQ(set(NCCL_ENCRYPTION_MODE_PSK, kSecret), ncclSuccess);
  with_ranks(2, [](ncclComm_t comm, int rank) { EXPECT_EQ(sum_over(comm, rank + 1), 3); });
}

TEST_F(Encryption, NullAndNoneWithdrawIt) {
  ASSERT_EQ(set(NCCL_ENCRYPTION_MODE_PSK, kSecret), ncclSuccess);
  EXPECT_EQ(ncclSetEncryption(nullptr), ncclSuccess);
  { const Alone alone; }
  ASSERT_EQ(set(NCCL_ENCRYPTION_MODE_PSK, kSecret), ncclSuccess);
  EXPECT_EQ(set(NCCL_ENCRYPTION_MODE_NONE, "ignored"), ncclSuccess);
  const Alone alone;
}

TEST_F(Encryption, AForkedChildAsksForTheSame) {
  ASSERT_EQ(set(NCCL_ENCRYPTION_MODE_PSK, kSecret), ncclSuccess);
  const pid_t child = fork();
  if (child == 0) _exit(runtime().encryption().value().on() ? 0 : 1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(EncryptionSettings, TheProgramsSecretComesBeforeTheEnvironment) {
  Options options;
  options.tls = "psk";
  core::Runtime runtime(options);
  EXPECT_EQ(runtime.encryption()->mode, TlsSettings::Mode::psk);
  EXPECT_TRUE(runtime.encryption()->secret.empty()) << "the job's own secret is meant";
  runtime.set_encryption(*TlsSettings::with_secret(Bytes(40)));
  EXPECT_EQ(runtime.encryption()->secret.size(), 40u);
  runtime.set_encryption(std::nullopt);
  EXPECT_TRUE(runtime.encryption()->secret.empty());
}

TEST(EncryptionSettings, WrongVariablesAreNamed) {
  Options options;
  options.tls = "cert";
  options.tls_certificate = "a.pem";
  const core::Runtime runtime(options);
  EXPECT_EQ(runtime.encryption().status().code(), Code::invalid_argument);
  EXPECT_THAT(runtime.encryption().status().message(), HasSubstr("WEIR_TLS_KEY is not set"));
}

}  // namespace
}  // namespace weir::api
