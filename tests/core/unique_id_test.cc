// SPDX-License-Identifier: Apache-2.0

#include "src/core/call/unique_id.h"

#include <gmock/gmock.h>

namespace weir::core {
namespace {

using ::testing::HasSubstr;

UniqueId sample() {
  return {*SocketAddress::parse("[::1]:4711"), 0x1234'5678'9abc'def0, true, Secret::from_text("sesame")};
}

TEST(UniqueId, ComesBackAsItWent) {
  const auto bytes = sample().encode();
  auto id = UniqueId::decode(bytes);
  ASSERT_TRUE(id.ok()) << id.status().message();
  EXPECT_EQ(*id, sample());
}

TEST(UniqueId, AnyChangedByteIsNoticed) {
  const auto good = sample().encode();
  for (size_t at = 0; at < good.size(); ++at) {
    auto bad = good;
    bad[at] ^= std::byte{0x10};
    const Status status = UniqueId::decode(bad).status();
    EXPECT_EQ(status.code(), Code::invalid_argument) << at;
    EXPECT_THAT(status.message(), HasSubstr("unique id"));
  }
}

TEST(UniqueId, UidsOfAJobShareAHalfThatFollowsFromItsSecret) {
  UniqueId other = sample();
  other.nonce ^= 1;
  EXPECT_NE(job_key_of(sample()), job_key_of(other));
  other = sample();
  other.secret = Secret::from_text("open");
  EXPECT_NE(job_key_of(sample()), job_key_of(other));
  const uint64_t uid = uid_in_job(job_key_of(sample()), 0x1234'5678'0000'0002);
  EXPECT_EQ(uid >> 32, job_key_of(sample()));
  EXPECT_NE(uid, uid_in_job(job_key_of(sample()), 4));
  EXPECT_NE(uid_in_job(0, 0), 0u);
}

TEST(UniqueId, AnotherLibrarysIdIsRefusedByName) {
  std::array<std::byte, UniqueId::kBytes> foreign{};
  EXPECT_THAT(UniqueId::decode(foreign).status().message(), HasSubstr("not made by weir"));
  for (size_t i = 0; i < foreign.size(); ++i) foreign[i] = static_cast<std::byte>(i * 37 + 11);
  EXPECT_THAT(UniqueId::decode(foreign).status().message(), HasSubstr("not made by weir"));
  EXPECT_THAT(UniqueId::decode(BytesView(foreign).first(64)).status().message(),
              HasSubstr("has 128 bytes, not 64"));
}

}  // namespace
}  // namespace weir::core
