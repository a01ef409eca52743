// SPDX-License-Identifier: Apache-2.0

#include "src/device/reduce_kernels.h"

#include <cstring>
#include <utility>
#include <vector>

#include "hwy/highway.h"
#include "src/device/reduce_scalar.h"

namespace weir::device {

// Defined in reduce_integers.cc, reduce_floats.cc and reduce_halves.cc, once per instruction set.
namespace N_AVX3 {
void add_integers(Kernels& kernels);
void add_floats(Kernels& kernels);
void add_halves(Kernels& kernels);
}  // namespace N_AVX3
namespace N_AVX2 {
void add_integers(Kernels& kernels);
void add_floats(Kernels& kernels);
void add_halves(Kernels& kernels);
}  // namespace N_AVX2
namespace N_SSE4 {
void add_integers(Kernels& kernels);
void add_floats(Kernels& kernels);
}  // namespace N_SSE4

namespace {

template <DataType kType, RedOp kOp>
void scalar_fold(uint8_t* dst, const uint8_t* const* src, int sources, size_t bytes) {
  scalar::fold(kType, kOp, dst, reinterpret_cast<const void* const*>(src), sources, bytes / size_of(kType));
}

template <DataType kType, RedOp kOp>
void scalar_stream(uint8_t* const* dst, int destinations, const uint8_t* const* src, int sources,
                   size_t bytes) {
  scalar_fold<kType, kOp>(dst[0], src, sources, bytes);
  for (int k = 1; k < destinations; ++k) std::memcpy(dst[k], dst[0], bytes);
}

template <DataType kType>
void scalar_scale(uint8_t* dst, const uint8_t* src, Scalar factor, size_t bytes) {
  scalar::scale(kType, dst, src, factor, bytes / size_of(kType));
}

void plain_copy(uint8_t* dst, const uint8_t* src, size_t bytes) { std::memcpy(dst, src, bytes); }

template <DataType kType, RedOp... kOps>
void add_scalar_type(Kernels& kernels, std::integer_sequence<RedOp, kOps...>) {
  ((kernels.at(kType, kOps) = {&scalar_fold<kType, kOps>, &scalar_fold<kType, kOps>,
                               &scalar_stream<kType, kOps>}),
   ...);
  kernels.scale[static_cast<int>(kType)] = &scalar_scale<kType>;
}

template <int... kTypes>
void add_scalar(Kernels& kernels, std::integer_sequence<int, kTypes...>) {
  using Ops = std::integer_sequence<RedOp, RedOp::sum, RedOp::prod, RedOp::max, RedOp::min>;
  (add_scalar_type<static_cast<DataType>(kTypes)>(kernels, Ops()), ...);
  kernels.streaming_copy = &plain_copy;
}

/// The scalar table, with the entries that `add` replaces.
template <typename... Add>
void append(std::vector<Kernels>& list, std::string_view name, Add... add) {
  Kernels& kernels = list.emplace_back();
  kernels.name = name;
  add_scalar(kernels, std::make_integer_sequence<int, kDataTypes>());
  (add(kernels), ...);
}

#if HWY_ARCH_X86

// The processor features that Highway enables for each of its targets.
[[maybe_unused]] bool has_sse4() {
  return __builtin_cpu_supports("sse4.1") && __builtin_cpu_supports("sse4.2") &&
         __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("aes");
}
[[maybe_unused]] bool has_avx2() {
  return has_sse4() && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
         __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
}
[[maybe_unused]] bool has_avx3() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
}

#endif

std::vector<Kernels> find_supported() {
  std::vector<Kernels> list;
#if HWY_TARGETS & HWY_AVX3
  if (has_avx3()) append(list, "AVX-512", N_AVX3::add_integers, N_AVX3::add_floats, N_AVX3::add_halves);
#endif
#if HWY_TARGETS & HWY_AVX2
  if (has_avx2()) append(list, "AVX2", N_AVX2::add_integers, N_AVX2::add_floats, N_AVX2::add_halves);
#endif
#if HWY_TARGETS & HWY_SSE4
  if (has_sse4()) append(list, "SSE4", N_SSE4::add_integers, N_SSE4::add_floats);
#endif
  append(list, "scalar");
  return list;
}

}  // namespace

std::span<const Kernels> supported_kernels() {
  static const std::vector<Kernels> list = find_supported();
  return list;
}

}  // namespace weir::device
