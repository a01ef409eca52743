// SPDX-License-Identifier: Apache-2.0

#include "src/base/bytes.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(Bytes, AreReadAsTheyWereWritten) {
  const Bytes inner(3, std::byte{7});
  const Bytes written =
      ByteWriter().put(uint16_t{513}).put_string("weir").put_bytes(inner).put_string("").put(-1.5).take();
  EXPECT_EQ(written.size(), 2u + 4 + 4 + 4 + 3 + 4 + 8);
  ByteReader in(written);
  EXPECT_EQ(in.get<uint16_t>(), 513);
  EXPECT_EQ(in.get_string(), "weir");
  EXPECT_EQ(in.get_bytes(), inner);
  EXPECT_EQ(in.get_string(), "");
  EXPECT_EQ(in.get<double>(), -1.5);
  EXPECT_TRUE(in.ok());
  EXPECT_EQ(in.remaining(), 0u);
}

TEST(Bytes, CutOffAnywhereAreNoticedAndGiveZeroes) {
  const Bytes written = ByteWriter().put(uint32_t{5}).put_string("weir").put(uint64_t{6}).take();
  for (size_t size = 0; size < written.size(); ++size) {
    ByteReader in(BytesView(written).first(size));
    in.get<uint32_t>();
    in.get_string();
    EXPECT_EQ(in.get<uint64_t>(), 0u) << size;
    EXPECT_FALSE(in.ok()) << size;
    EXPECT_EQ(in.get<uint8_t>(), 0u) << "after an error nothing is read any more";
  }
}

TEST(Bytes, ACountIsBoundedByTheBytesThatAreLeft) {
  const Bytes written = ByteWriter().put(uint32_t{2}).put(uint64_t{5}).put(uint64_t{6}).take();
  EXPECT_EQ(ByteReader(written).count(sizeof(uint64_t)), 2u);
  ByteReader larger(written);
  EXPECT_EQ(larger.count(sizeof(uint64_t) + 1), 0u);
  EXPECT_FALSE(larger.ok());
  const Bytes huge = ByteWriter().put(UINT64_MAX).put(uint64_t{5}).take();
  ByteReader overflows(huge);
  EXPECT_EQ(overflows.count<uint64_t>(16), 0u);
  EXPECT_FALSE(overflows.ok());
  ByteReader cut(BytesView(written).first(3));
  EXPECT_EQ(cut.count(1), 0u);
  EXPECT_FALSE(cut.ok());
}

TEST(Bytes, EveryByteIsABool) {
  const Bytes written = ByteWriter().put(uint8_t{0}).put(uint8_t{1}).put(uint8_t{77}).take();
  ByteReader in(written);
  EXPECT_FALSE(in.get<bool>());
  EXPECT_TRUE(in.get<bool>());
  EXPECT_TRUE(in.get<bool>());
}

TEST(Bytes, ALengthBeyondTheEndIsNoticed) {
  const Bytes written = ByteWriter().put(UINT32_MAX).put(uint8_t{1}).take();
  ByteReader in(written);
  EXPECT_EQ(in.get_string(), "");
  EXPECT_FALSE(in.ok());
}

}  // namespace
}  // namespace weir
