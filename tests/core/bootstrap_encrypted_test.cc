// SPDX-License-Identifier: Apache-2.0
// Joining with sockets that are encrypted, and with ranks that do not encrypt alike.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <thread>

#include "tests/core/rank.h"
#include "tests/core/status_words.h"

namespace weir::core::encrypted {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Site;
using testing::words;

TlsSettings psk(char letter = 0) {
  TlsSettings settings;
  settings.mode = TlsSettings::Mode::psk;
  if (letter != 0) settings.secret = Bytes(kLeastTlsSecret, static_cast<std::byte>(letter));
  return settings;
}

class BootstrapEncrypted : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto openssl = drivers::load_openssl(); !openssl.ok())
      GTEST_SKIP() << openssl.status().message();
  }
  /// Joins as `ranks` threads; each rank encrypts as its settings say. What each has got.
  static std::vector<Status> join(const TlsSettings& root, const std::vector<TlsSettings>& ranks) {
    Site site({.init_ms = 20'000, .peer_ms = 5'000});
    const auto id = site.roots.make_id(SocketAddress::loopback(AF_INET, 0), site.timeouts, {}, root);
    EXPECT_TRUE(id.ok()) << id.status().message();
    std::vector<Status> results(ranks.size());
    std::vector<std::thread> threads;
    for (size_t rank = 0; rank < ranks.size(); ++rank) {
      threads.emplace_back([&, rank] { results[rank] = join_as(*id, static_cast<int>(rank), ranks); });
    }
    for (std::thread& thread : threads) thread.join();
    return results;
  }

 private:
  /// Each rank has a listener of its own, as if it were a process.
  static Status join_as(const UniqueId& id, int rank, const std::vector<TlsSettings>& ranks) {
    Site site({.init_ms = 20'000, .peer_ms = 5'000});
    const auto credentials = Credentials::make(id.secret, ranks[static_cast<size_t>(rank)]);
    WEIR_TRY(credentials.status());
    Bootstrap::Spec spec = site.spec(id, static_cast<int>(ranks.size()), rank);
    spec.tls = credentials->tls;
    auto joined = Bootstrap::join(spec);
    WEIR_TRY(joined.status());
    const auto all = (*joined)->all_gather(testing::to_bytes(fmt::format("r{}", rank)));
    WEIR_TRY(all.status());
    EXPECT_EQ(testing::to_text(all->back()), fmt::format("r{}", ranks.size() - 1));
    return (*joined)->barrier();
  }
};

TEST_F(BootstrapEncrypted, RanksMeet) {
  for (const size_t ranks : {1, 2, 5})
    for (const Status& result : join(psk(), std::vector<TlsSettings>(ranks, psk())))
      EXPECT_EQ(words(result), "ok");
}

TEST_F(BootstrapEncrypted, RanksWithTheSecretOfAProgramMeet) {
  for (const Status& result : join(psk('a'), {psk('a'), psk('a')})) EXPECT_EQ(words(result), "ok");
}

TEST_F(BootstrapEncrypted, ARankThatDoesNotEncryptIsNamedToAll) {
  for (const Status& result : join(psk(), {psk(), {}})) {
    EXPECT_EQ(result.code(), Code::invalid_usage);
    EXPECT_THAT(result.message(), AllOf(HasSubstr("rank 1"), HasSubstr("has WEIR_TLS=off, the root has "
                                                                       "WEIR_TLS=psk; expected the same")));
  }
}

TEST_F(BootstrapEncrypted, ARankThatAloneEncryptsIsNamedToAll) {
  for (const Status& result : join({}, {{}, psk()})) {
    EXPECT_EQ(result.code(), Code::invalid_usage);
    EXPECT_THAT(result.message(), HasSubstr("has WEIR_TLS=psk, the root has WEIR_TLS=off"));
  }
}

/// It knows the secret of the unique id, but not the one that the program has set.
TEST_F(BootstrapEncrypted, AnotherKeyIsRefused) {
  const std::vector<Status> results = join(psk('a'), {psk('a'), psk('b')});
  EXPECT_THAT(results[0].message(),
              AllOf(HasSubstr("rank 1"), HasSubstr("cannot join: TLS with 127.0.0.1:"),
                    HasSubstr("this process refuses it: its secret is not the one of this process")));
  EXPECT_THAT(results[1].message(), HasSubstr("it refuses this process, whose secret is not its own"));
}

}  // namespace
}  // namespace weir::core::encrypted
