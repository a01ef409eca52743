// SPDX-License-Identifier: Apache-2.0
/// Every vector path against the scalar definitions, bit for bit, and the public functions.
#include "src/device/reduce.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "src/device/reduce_kernels.h"
#include "src/device/reduce_scalar.h"
#include "tests/base/sanitized.h"
#include "tests/device/reduce_operations.h"

namespace weir::device {
namespace {

constexpr size_t kMaxCount = 300;
constexpr unsigned char kGuard = 0xa5;

/// Random bits, often replaced by values that are rare in them: zeros, ones, infinities, NaNs, denormals,
/// extremes.
std::vector<unsigned char> awkward_bytes(DataType type, size_t count, unsigned seed) {
  const size_t size = size_of(type);
  std::mt19937_64 random(seed);
  const uint64_t top = uint64_t{1} << (8 * size - 1);
  const uint64_t infinity = type == DataType::float16      ? 0x7c00
                            : type == DataType::bfloat16   ? 0x7f80
                            : type == DataType::float32    ? 0x7f800000
                            : type == DataType::float64    ? 0x7ff0000000000000
                            : type == DataType::float8e4m3 ? 0x7f
                                                           : 0x7c;
  const uint64_t special[] = {
      0,       top,   1,       top | 1, infinity,          infinity | top, infinity + 1, infinity - 1,
      top - 1, ~0ull, top - 2, 0x3c00,  infinity + top - 1};
  std::vector<unsigned char> bytes(count * size);
  for (size_t i = 0; i < count; ++i) {
    const uint64_t noise = random();
    uint64_t value = noise;
    if (noise % 3 == 0) value = special[random() % std::size(special)];
    if (noise % 7 == 0) value = random() & 0xff;                             // small: denormals
    if (noise % 11 == 0) value = (infinity >> 1) + (random() & 0xff) - 128;  // about one
    std::memcpy(&bytes[i * size], &value, size);
  }
  return bytes;
}

/// A buffer with guard bytes before and after it.
class Guarded {
 public:
  Guarded(size_t bytes, size_t misalignment) : store_(bytes + 256, kGuard), bytes_(bytes) {
    const auto address = reinterpret_cast<uintptr_t>(store_.data());
    at_ = 64 + (64 - address % 64) % 64 + misalignment;
  }
  unsigned char* data() { return store_.data() + at_; }
  bool intact() const {
    for (size_t i = 0; i < store_.size(); ++i) {
      if ((i < at_ || i >= at_ + bytes_) && store_[i] != kGuard) return false;
    }
    return true;
  }

 private:
  std::vector<unsigned char> store_;
  size_t bytes_;
  size_t at_;
};

/// One instruction set, one type, one operation: the sources, and what the scalar definition makes of them.
struct Case {
  DataType type;
  RedOp op;
  std::vector<std::vector<unsigned char>> rows;
  std::vector<unsigned char> expected;

  Case(DataType t, RedOp o, int sources, size_t count, unsigned seed) : type(t), op(o) {
    for (int k = 0; k < sources; ++k)
      rows.push_back(awkward_bytes(t, count, seed + static_cast<unsigned>(k)));
    expected.resize(count * size_of(t));
    const auto src = pointers();
    scalar::fold(t, o, expected.data(), src.data(), sources, count);
  }
  std::vector<const void*> pointers() const {
    std::vector<const void*> result;
    for (const auto& row : rows) result.push_back(row.data());
    return result;
  }
};

/// The first bytes of every row of a case, each misaligned differently.
struct Sources {
  std::vector<Guarded> rows;
  std::vector<const uint8_t*> pointers;

  Sources(const Case& c, size_t bytes, size_t at) {
    for (size_t k = 0; k < c.rows.size(); ++k) {
      rows.emplace_back(bytes, (at + 5 * k) % 64);
      std::memcpy(rows.back().data(), c.rows[k].data(), bytes);
    }
    for (Guarded& row : rows) pointers.push_back(row.data());
  }
};

class EveryKernel : public ::testing::TestWithParam<DataType> {
 protected:
  /// Runs `kernel` on the first `count` elements, sources and destination misaligned as said.
  void check(const Case& c, FoldKernel kernel, size_t count, size_t source_at, size_t dst_at) {
    const size_t bytes = count * size_of(c.type);
    const Sources src(c, bytes, source_at);
    Guarded dst(bytes, dst_at);
    kernel(dst.data(), src.pointers.data(), static_cast<int>(src.pointers.size()), bytes);
    ASSERT_EQ(std::memcmp(dst.data(), c.expected.data(), bytes), 0) << "count " << count;
    ASSERT_TRUE(dst.intact()) << "count " << count << " wrote outside";
  }
  /// As above, into three destinations; the last one is misaligned relative to the others or not.
  void check_streaming(const Case& c, StreamKernel kernel, size_t count, size_t source_at, size_t dst_at,
                       size_t last_at) {
    const size_t bytes = count * size_of(c.type);
    const Sources src(c, bytes, source_at);
    Guarded dst[3] = {{bytes, dst_at}, {bytes, dst_at}, {bytes, last_at}};
    uint8_t* const to[] = {dst[0].data(), dst[1].data(), dst[2].data()};
    for (const int destinations : {1, 3}) {
      kernel(to, destinations, src.pointers.data(), static_cast<int>(src.pointers.size()), bytes);
      for (int k = 0; k < destinations; ++k) {
        ASSERT_EQ(std::memcmp(to[k], c.expected.data(), bytes), 0) << "count " << count << " into " << k;
        ASSERT_TRUE(dst[k].intact()) << "count " << count << " wrote outside";
      }
    }
  }
  /// As check, onto source `alias`.
  void check_in_place(const Case& c, FoldKernel kernel, size_t count, size_t at, size_t alias) {
    const size_t bytes = count * size_of(c.type);
    Guarded dst(bytes, at);
    std::memcpy(dst.data(), c.rows[alias].data(), bytes);
    std::vector<const uint8_t*> src;
    for (size_t k = 0; k < c.rows.size(); ++k) src.push_back(k == alias ? dst.data() : c.rows[k].data());
    kernel(dst.data(), src.data(), static_cast<int>(src.size()), bytes);
    ASSERT_EQ(std::memcmp(dst.data(), c.expected.data(), bytes), 0) << "in place, count " << count;
    ASSERT_TRUE(dst.intact());
  }
  static std::string where(const Kernels& kernels, RedOp op) {
    return std::string(kernels.name) + " " + std::string(name(GetParam())) + " " + std::string(name(op));
  }
};

TEST_P(EveryKernel, EveryLength) {
  for (const RedOp op : kOps) {
    const Case pair(GetParam(), op, 2, kMaxCount, 1);
    const Case many(GetParam(), op, 5, kMaxCount, 10);
    for (const Kernels& kernels : supported_kernels()) {
      SCOPED_TRACE(where(kernels, op));
      const FoldKernels& k = kernels.at(GetParam(), op);
      for (size_t count = 0; count <= kMaxCount; ++count) {
        ASSERT_NO_FATAL_FAILURE(check(pair, k.pair, count, count * 7 % 64, count * 13 % 64));
        ASSERT_NO_FATAL_FAILURE(check(pair, k.many, count, 0, 0));
        ASSERT_NO_FATAL_FAILURE(check(many, k.many, count, count * 11 % 64, count * 3 % 64));
        ASSERT_NO_FATAL_FAILURE(check_in_place(pair, k.pair, count, count % 64, count % 2));
        ASSERT_NO_FATAL_FAILURE(check_in_place(many, k.many, count, count % 64, count % 5));
      }
    }
  }
}

TEST_P(EveryKernel, EveryMisalignment) {
  for (const RedOp op : kOps) {
    const Case pair(GetParam(), op, 2, kMaxCount, 20);
    for (const Kernels& kernels : supported_kernels()) {
      SCOPED_TRACE(where(kernels, op));
      const FoldKernels& k = kernels.at(GetParam(), op);
      for (size_t at = 0; at < 64; ++at) {
        ASSERT_NO_FATAL_FAILURE(check(pair, k.pair, kMaxCount - at % 9, at, 0));
        ASSERT_NO_FATAL_FAILURE(check(pair, k.pair, kMaxCount - at % 7, 0, at));
        ASSERT_NO_FATAL_FAILURE(check_in_place(pair, k.pair, kMaxCount - at % 5, at, 1));
      }
    }
  }
}

TEST_P(EveryKernel, StreamingStores) {
  constexpr size_t kCount = 3000;
  for (const RedOp op : kOps) {
    const Case pair(GetParam(), op, 2, kCount, 30);
    const Case many(GetParam(), op, 3, kCount, 40);
    for (const Kernels& kernels : supported_kernels()) {
      SCOPED_TRACE(where(kernels, op));
      const FoldKernels& k = kernels.at(GetParam(), op);
      for (size_t at = 0; at < 64; ++at) {
        const size_t last = at % 3 == 0 ? (at + 4) % 64 : at;
        ASSERT_NO_FATAL_FAILURE(
            check_streaming(pair, k.streaming, kCount - at * 5 % 67, at * 9 % 64, at, last));
        ASSERT_NO_FATAL_FAILURE(check_streaming(many, k.streaming, at * 31 % kCount, at * 9 % 64, at, last));
      }
    }
  }
}

TEST_P(EveryKernel, ManyRandomValues) {
  constexpr size_t kCount = testing::enough(200000);
  for (const RedOp op : kOps) {
    const Case pair(GetParam(), op, 2, kCount, 50);
    for (const Kernels& kernels : supported_kernels()) {
      SCOPED_TRACE(where(kernels, op));
      ASSERT_NO_FATAL_FAILURE(check(pair, kernels.at(GetParam(), op).pair, kCount, 0, 0));
    }
  }
}

TEST_P(EveryKernel, Scale) {
  const DataType type = GetParam();
  const auto src = awkward_bytes(type, kMaxCount, 60);
  const auto factors = awkward_bytes(type, 20, 70);
  for (const Kernels& kernels : supported_kernels()) {
    for (size_t f = 0; f < 20; ++f) {
      Scalar factor{};
      std::memcpy(factor.bits, &factors[f * size_of(type)], size_of(type));
      std::vector<unsigned char> expected(src.size());
      scalar::scale(type, expected.data(), src.data(), factor, kMaxCount);
      for (size_t count = f % 3; count <= kMaxCount; count += 3) {
        Guarded dst(count * size_of(type), count % 64);
        kernels.scale[static_cast<int>(type)](dst.data(), src.data(), factor, count * size_of(type));
        ASSERT_EQ(std::memcmp(dst.data(), expected.data(), count * size_of(type)), 0)
            << kernels.name << count;
        ASSERT_TRUE(dst.intact());
      }
    }
  }
}

std::string type_name(const ::testing::TestParamInfo<DataType>& info) {
  return std::string(name(info.param));
}

INSTANTIATE_TEST_SUITE_P(Reduce, EveryKernel,
                         ::testing::Values(DataType::int8, DataType::uint8, DataType::int32, DataType::uint32,
                                           DataType::int64, DataType::uint64, DataType::float16,
                                           DataType::float32, DataType::float64, DataType::bfloat16,
                                           DataType::float8e4m3, DataType::float8e5m2),
                         type_name);

TEST(Reduce, VectorPathsOfThisProcessorAreFound) {
#if defined(__x86_64__)
  const auto has = [](std::string_view wanted) {
    for (const Kernels& kernels : supported_kernels()) {
      if (kernels.name == wanted) return true;
    }
    return false;
  };
  EXPECT_EQ(has("AVX2"), __builtin_cpu_supports("avx2") != 0);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // these builds have AVX2 only
  EXPECT_EQ(has("AVX-512"), __builtin_cpu_supports("avx512bw") != 0);
  EXPECT_EQ(has("SSE4"), __builtin_cpu_supports("sse4.2") != 0);
#endif
#endif
  for (const Kernels& kernels : supported_kernels()) {
    for (const auto& row : kernels.fold) {
      for (const FoldKernels& k : row) {
        EXPECT_TRUE(k.pair != nullptr && k.many != nullptr && k.streaming != nullptr) << kernels.name;
      }
    }
    for (const ScaleKernel kernel : kernels.scale) EXPECT_NE(kernel, nullptr);
    EXPECT_NE(kernels.streaming_copy, nullptr);
  }
}

/// All 65536 pairs of float8, in every vector path.
TEST(Reduce, EveryPairOfFloat8) {
  std::vector<unsigned char> a(65536);
  std::vector<unsigned char> b(65536);
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<unsigned char>(i >> 8);
    b[i] = static_cast<unsigned char>(i);
  }
  const void* src[] = {a.data(), b.data()};
  const uint8_t* bytes[] = {a.data(), b.data()};
  for (const DataType type : {DataType::float8e4m3, DataType::float8e5m2}) {
    for (const RedOp op : kOps) {
      std::vector<unsigned char> expected(a.size());
      scalar::fold(type, op, expected.data(), src, 2, a.size());
      for (const Kernels& kernels : supported_kernels()) {
        std::vector<unsigned char> got(a.size());
        kernels.at(type, op).pair(got.data(), bytes, 2, got.size());
        for (size_t i = 0; i < got.size(); ++i) {
          ASSERT_EQ(got[i], expected[i])
              << kernels.name << " " << name(type) << " " << name(op) << " " << int{a[i]} << " " << int{b[i]};
        }
      }
    }
  }
}

/// Every 16-bit code with every other kind of code: conversions in and out of float32 are exhaustive.
TEST(Reduce, EveryCodeOfSixteenBits) {
  std::vector<uint16_t> a(65536);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<uint16_t>(i);
  for (const DataType type : {DataType::float16, DataType::bfloat16}) {
    for (unsigned with :
         {0u, 1u, 0x8000u, 0x03ffu, 0x0400u, 0x3c00u, 0x3f80u, 0x7bffu, 0x7c00u, 0x7f7fu, 0xfe01u}) {
      const std::vector<uint16_t> b(a.size(), static_cast<uint16_t>(with));
      const void* src[] = {a.data(), b.data()};
      for (const RedOp op : kOps) {
        std::vector<uint16_t> expected(a.size());
        scalar::fold(type, op, expected.data(), src, 2, a.size());
        for (const Kernels& kernels : supported_kernels()) {
          std::vector<uint16_t> got(a.size());
          kernels.at(type, op).pair(reinterpret_cast<uint8_t*>(got.data()),
                                    reinterpret_cast<const uint8_t* const*>(src), 2, got.size() * 2);
          ASSERT_EQ(got, expected) << kernels.name << " " << name(type) << " " << name(op) << " " << with;
        }
      }
    }
  }
}

TEST(Reduce, FoldOfOneSourceKeepsEveryBit) {
  for (int kind = 0; kind < kDataTypes; ++kind) {
    const auto type = static_cast<DataType>(kind);
    const auto bytes = awkward_bytes(type, 5000, 80);
    for (const Traffic traffic : {Traffic::cached, Traffic::streaming}) {
      std::vector<unsigned char> got(bytes.size());
      const void* src[] = {bytes.data()};
      fold(type, RedOp::sum, got.data(), src, 1, 5000, traffic);
      ASSERT_EQ(got, bytes);
    }
  }
}

TEST(Reduce, FoldIsTheScalarFold) {
  for (int kind = 0; kind < kDataTypes; ++kind) {
    const auto type = static_cast<DataType>(kind);
    for (const RedOp op : kOps) {
      for (const int sources : {2, 3, 9}) {
        const Case c(type, op, sources, 17000, 90);
        for (const Traffic traffic : {Traffic::cached, Traffic::streaming}) {
          auto src = c.pointers();
          std::vector<unsigned char> got(c.expected.size());
          fold(type, op, got.data(), src.data(), sources, 17000, traffic);
          ASSERT_EQ(got, c.expected) << name(type) << " " << name(op);
          got = c.rows[1];  // in place
          src[1] = got.data();
          fold(type, op, got.data(), src.data(), sources, 17000, traffic);
          ASSERT_EQ(got, c.expected) << "in place " << name(type) << " " << name(op);
        }
      }
    }
  }
}

TEST(Reduce, FoldToAllIsTheFoldEverywhere) {
  for (const size_t count : {0u, 3u, 17000u}) {
    for (const int sources : {1, 2, 5}) {
      const Case c(DataType::float16, RedOp::sum, sources, count, 95);
      for (const Traffic traffic : {Traffic::cached, Traffic::streaming}) {
        for (const bool in_place : {false, true}) {
          auto src = c.pointers();
          std::vector<unsigned char> own(c.expected.size()), other(c.expected.size());
          if (in_place) {
            own = c.rows[0];
            src[0] = own.data();
          }
          void* dst[] = {own.data(), other.data()};
          fold_to_all(c.type, RedOp::sum, dst, 2, src.data(), sources, count, traffic);
          ASSERT_EQ(own, c.expected) << sources << " sources of " << count;
          ASSERT_EQ(other, c.expected) << sources << " sources of " << count;
        }
      }
    }
  }
}

TEST(Reduce, CopyAnyLengthAnywhere) {
  const auto src = awkward_bytes(DataType::uint8, 20100, 100);
  for (const Traffic traffic : {Traffic::cached, Traffic::streaming}) {
    for (size_t bytes : {0ul, 1ul, 63ul, 4097ul, 16383ul, 16384ul, 16385ul, 19800ul}) {
      for (size_t at = 0; at < 64; ++at) {
        Guarded dst(bytes, at);
        copy(dst.data(), src.data() + at * 3, bytes, traffic);
        ASSERT_EQ(std::memcmp(dst.data(), src.data() + at * 3, bytes), 0);
        ASSERT_TRUE(dst.intact());
      }
    }
  }
  auto same = src;
  copy(same.data(), same.data(), same.size(), Traffic::streaming);
  EXPECT_EQ(same, src);
}

template <typename T>
void check_divide(DataType type) {
  std::mt19937_64 random(5);
  for (const int64_t divisor :
       {1l, 2l, 3l, 4l, 7l, 8l, 64l, 100l, 127l, 128l, 255l, 256l, 1000l, 1l << 31, 1l << 40}) {
    std::vector<T> values = {0,
                             1,
                             2,
                             static_cast<T>(-1),
                             static_cast<T>(-7),
                             std::numeric_limits<T>::min(),
                             std::numeric_limits<T>::max()};
    for (int i = 0; i < 200; ++i) values.push_back(static_cast<T>(random() >> (i % 64)));
    std::vector<T> expected;
    for (const T value : values) expected.push_back(static_cast<T>(static_cast<__int128>(value) / divisor));
    divide(type, values.data(), divisor, values.size());
    ASSERT_EQ(values, expected) << name(type) << " / " << divisor;
  }
}

TEST(Reduce, DivideTruncates) {
  check_divide<int8_t>(DataType::int8);
  check_divide<uint8_t>(DataType::uint8);
  check_divide<int32_t>(DataType::int32);
  check_divide<uint32_t>(DataType::uint32);
  check_divide<int64_t>(DataType::int64);
  check_divide<uint64_t>(DataType::uint64);
}

}  // namespace
}  // namespace weir::device
