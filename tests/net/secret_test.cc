// SPDX-License-Identifier: Apache-2.0

#include "src/net/secret.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

namespace weir {
namespace {

BytesView view(std::string_view text) { return std::as_bytes(std::span(text)); }

std::string hex(BytesView bytes) {
  std::string out;
  for (const std::byte byte : bytes) out += fmt::format("{:02x}", std::to_integer<int>(byte));
  return out;
}

/// The bytes 0, 1, ... 15.
Secret ascending() {
  std::array<std::byte, Secret::kBytes> bytes;
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i);
  return Secret(bytes);
}

/// The expected values are those of Python's hashlib.blake2b(message, digest_size=16, key=secret).
TEST(Secret, ProofsAreBlake2b) {
  EXPECT_EQ(hex(ascending().prove({})), "083aac7ba77bc664005d821eb8bfa4d9");
  EXPECT_EQ(hex(ascending().prove(view("abc"))), "cc611a2673ca66e9f7fc64b995c5467c");
  EXPECT_EQ(hex(Secret().prove(view("abc"))), "ebbc6a5d030ce3a5ee01aab9b46167f3");
}

TEST(Secret, FollowsFromATextAndFromAnotherSecret) {
  EXPECT_EQ(hex(Secret::from_text("open sesame").bytes()), "d89227c1a20352231935a1715f71d3d8");
  EXPECT_EQ(hex(ascending().derive("reports").bytes()), "f675af260855a11c426500bfe87b6219");
  EXPECT_NE(ascending().derive("reports"), ascending().derive("report"));
  EXPECT_NE(Secret().derive("reports"), ascending().derive("reports"));
}

TEST(Secret, AcceptsOnlyTheProofOfTheMessage) {
  const Proof right = ascending().prove(view("abc"));
  EXPECT_TRUE(ascending().accepts(view("abc"), right));
  EXPECT_FALSE(ascending().accepts(view("abd"), right));
  EXPECT_FALSE(ascending().accepts(view("ab"), right));
  EXPECT_FALSE(Secret().accepts(view("abc"), right));
  for (size_t bit = 0; bit < 8 * right.size(); ++bit) {
    Proof wrong = right;
    wrong[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    EXPECT_FALSE(ascending().accepts(view("abc"), wrong)) << "bit " << bit;
  }
}

TEST(Secret, RandomOnesDiffer) {
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) {
    seen.insert(hex(Secret::random()->bytes()));
    seen.insert(hex(*random_challenge()));
  }
  EXPECT_EQ(seen.size(), 200u);
  EXPECT_TRUE(Secret().is_public());
  EXPECT_FALSE(Secret::random()->is_public());
}

}  // namespace
}  // namespace weir
