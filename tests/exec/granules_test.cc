// SPDX-License-Identifier: Apache-2.0
/// Arithmetic on granules against the scalar definitions.
#include "src/device/granules.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "src/device/reduce_scalar.h"

namespace weir::device {
namespace {

template <int kGranules>
void compare(DataType type, std::mt19937_64& random) {
  const size_t count = kGranules * 8 / size_of(type);
  for (const RedOp op : {RedOp::sum, RedOp::prod, RedOp::max, RedOp::min}) {
    uint64_t a[kGranules], b[kGranules], want[kGranules];
    for (uint64_t& granule : a) granule = random();
    for (uint64_t& granule : b) granule = random();
    uint64_t b_before[kGranules];
    std::memcpy(b_before, b, sizeof(b));
    const void* sources[] = {a, b};
    scalar::fold(type, op, want, sources, 2, count);
    combine(type, op, a, b);
    ASSERT_EQ(std::memcmp(a, want, sizeof(a)), 0) << name(type) << " " << name(op);
    ASSERT_EQ(std::memcmp(b, b_before, sizeof(b)), 0) << name(type) << " " << name(op);
  }
  if (is_float(type)) return;
  uint64_t a[kGranules], want[kGranules];
  for (uint64_t& granule : a) granule = random();
  std::memcpy(want, a, sizeof(a));
  const auto divisor = static_cast<int64_t>(random() % 1000 + 1);
  scalar::divide(type, want, divisor, count);
  divide(type, a, divisor);
  ASSERT_EQ(std::memcmp(a, want, sizeof(a)), 0) << name(type) << " / " << divisor;
}

TEST(Granules, EqualTheScalarDefinitions) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 500; ++round) {
    for (int type = 0; type < kDataTypes; ++type) {
      compare<1>(static_cast<DataType>(type), random);
      compare<8>(static_cast<DataType>(type), random);
    }
  }
}

TEST(Granules, Splat) {
  EXPECT_EQ(splat(0xffab, 1), 0xababababababababu);
  EXPECT_EQ(splat(0xff1234, 2), 0x1234123412341234u);
  EXPECT_EQ(splat(0xff12345678, 4), 0x1234567812345678u);
  EXPECT_EQ(splat(0x123456789abcdef0, 8), 0x123456789abcdef0u);
}

}  // namespace
}  // namespace weir::device
