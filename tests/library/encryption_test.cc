// SPDX-License-Identifier: Apache-2.0
// Jobs whose sockets are encrypted by WEIR_TLS, in processes that speak over sockets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <utility>
#include <vector>

#include "tests/library/processes.h"
#include "tests/net/tls/test_certificates.h"

namespace weir::testing::encrypted {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

using Settings = std::vector<std::pair<std::string, std::string>>;

std::string sentence() { return ncclGetLastError(nullptr); }

/// Calls act(rank) in a process per rank, with the settings and over sockets alone; each has to end well.
void in_processes(int ranks, const Settings& settings, const std::function<void(const Rank&)>& act) {
  EXPECT_TRUE(all_well(run_ranks(ranks, [&](const Rank& rank) {
    setenv("WEIR_TRANSPORTS", "tcp", 1);
    for (const auto& [name, value] : settings) setenv(name.c_str(), value.c_str(), 1);
    act(rank);
  })));
}

void expect_sums(const Rank& rank) {
  ncclComm_t comm = rank.connect();
  for (const size_t count : {size_t{1}, size_t{1000}, size_t{3'000'000}}) {
    std::vector<int> data(count, rank.rank() + 1);
    expect_success(ncclAllReduce(data.data(), data.data(), count, ncclInt, ncclSum, comm, nullptr),
                   "ncclAllReduce");
    EXPECT_EQ(data, std::vector<int>(count, rank.ranks() * (rank.ranks() + 1) / 2));
  }
  expect_success(ncclCommDestroy(comm), "ncclCommDestroy");
}

TEST(JobWithTls, SumsWithTheSecretOfTheJob) { in_processes(3, {{"WEIR_TLS", "psk"}}, expect_sums); }

class JobWithCertificates : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_openssl_program()) GTEST_SKIP() << "the program openssl is missing";
    ASSERT_TRUE(files_.make_authority("ca") && files_.issue("member", "ca"));
  }
  Settings settings(const std::string& name) const {
    return {{"WEIR_TLS", "cert"},
            {"WEIR_TLS_CERT", files_.file(name + ".pem")},
            {"WEIR_TLS_KEY", files_.file(name + ".key")},
            {"WEIR_TLS_CA", files_.file("ca.pem")}};
  }

  TestCertificates files_;
};

TEST_F(JobWithCertificates, Sums) { in_processes(3, settings("member"), expect_sums); }

/// The id alone does not make a member.
TEST_F(JobWithCertificates, AMemberOfAnotherAuthorityIsAStranger) {
  ASSERT_TRUE(files_.make_authority("other") && files_.issue("stranger", "other"));
  in_processes(2, settings("member"), [&](const Rank& rank) {
    if (rank.rank() == 1) {
      for (const auto& [name, value] : settings("stranger")) setenv(name.c_str(), value.c_str(), 1);
    }
    ncclComm_t comm = nullptr;
    EXPECT_EQ(ncclCommInitRank(&comm, 2, rank.id(), rank.rank()), ncclRemoteError);
    EXPECT_THAT(sentence(), HasSubstr("certificate"));
  });
}

TEST(JobWithTls, RanksThatDoNotEncryptAlikeAreNamed) {
  in_processes(2, {{"WEIR_TLS", "psk"}}, [](const Rank& rank) {
    const ncclUniqueId id = rank.id();
    if (rank.rank() == 1) setenv("WEIR_TLS", "off", 1);
    ncclComm_t comm = nullptr;
    EXPECT_EQ(ncclCommInitRank(&comm, 2, id, rank.rank()), ncclInvalidUsage);
    EXPECT_THAT(sentence(),
                AllOf(HasSubstr("rank 1"), HasSubstr("has WEIR_TLS=off, the root has WEIR_TLS=psk")));
  });
}

TEST(JobWithTls, DoesNotUseWhatCannotEncrypt) {
  in_processes(1, {{"WEIR_TLS", "psk"}, {"WEIR_TRANSPORTS", "verbs,ucx"}}, [](const Rank& rank) {
    ncclComm_t comm = nullptr;
    EXPECT_EQ(ncclCommInitRank(&comm, 1, rank.id(), 0), ncclInvalidUsage);
    EXPECT_THAT(sentence(), HasSubstr("names no transport that can encrypt"));
  });
}

TEST(JobWithTls, NeedsASecretAtAFixedAddress) {
  in_processes(1, {{"WEIR_TLS", "psk"}, {"NCCL_COMM_ID", "127.0.0.1:39"}}, [](const Rank& rank) {
    ncclComm_t comm = nullptr;
    EXPECT_EQ(ncclCommInitRank(&comm, 1, rank.id(), 0), ncclInvalidUsage);
    EXPECT_THAT(sentence(), HasSubstr("expected the same WEIR_SECRET or WEIR_SECRET_FILE on all ranks"));
  });
}

}  // namespace
}  // namespace weir::testing::encrypted
