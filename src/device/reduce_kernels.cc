#include "src/device/reduce_kernels.h"

#include <vector>

#include "hwy/highway.h"

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
void add_halves(Kernels& kernels);
}  // namespace N_SSE4

namespace {

#if HWY_ARCH_X86

// What Highway lets the compiler use for each of its targets.
bool has_sse4() {
  return __builtin_cpu_supports("sse4.1") && __builtin_cpu_supports("sse4.2") &&
         __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("aes");
}
bool has_avx2() {
  return has_sse4() && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
         __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
}
bool has_avx3() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
}

template <typename... Add>
void append(std::vector<Kernels>& list, std::string_view name, Add... add) {
  Kernels& kernels = list.emplace_back();
  kernels.name = name;
  (add(kernels), ...);
}

std::vector<Kernels> find_supported() {
  std::vector<Kernels> list;
#if HWY_TARGETS & HWY_AVX3
  if (has_avx3()) append(list, "AVX-512", N_AVX3::add_integers, N_AVX3::add_floats, N_AVX3::add_halves);
#endif
#if HWY_TARGETS & HWY_AVX2
  if (has_avx2()) append(list, "AVX2", N_AVX2::add_integers, N_AVX2::add_floats, N_AVX2::add_halves);
#endif
#if HWY_TARGETS & HWY_SSE4
  if (has_sse4()) append(list, "SSE4", N_SSE4::add_integers, N_SSE4::add_floats, N_SSE4::add_halves);
#endif
  return list;
}

#else

std::vector<Kernels> find_supported() { return {}; }

#endif

}  // namespace

std::span<const Kernels> supported_kernels() {
  static const std::vector<Kernels> list = find_supported();
  return list;
}

}  // namespace weir::device
