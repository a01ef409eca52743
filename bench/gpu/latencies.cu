// SPDX-License-Identifier: Apache-2.0
// What the kernels of collectives are made of, measured on one GPU: words that blocks exchange, fences,
// barriers, copies.
//
// nvcc includes the runtime's header by itself:
//
//   nvcc -O3 -std=c++20 -arch=sm_90 -cudart static -o gpu_latencies bench/gpu/latencies.cu && ./gpu_latencies
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <source_location>
#include <vector>

namespace {

using Word = unsigned long long;

constexpr int kTurns = 2000;
constexpr int kPublished = 500;
constexpr size_t kArray = size_t{1} << 30;

void checked(cudaError_t code, std::source_location where = std::source_location::current()) {
  if (code == cudaSuccess) return;
  std::fprintf(stderr, "gpu_latencies: line %u: %s\n", static_cast<unsigned>(where.line()),
               cudaGetErrorString(code));
  std::exit(1);
}

enum class Scope { system, gpu, none };

template <Scope scope>
__device__ Word load(const Word* from) {
  Word value;
  if constexpr (scope == Scope::system)
    asm volatile("ld.acquire.sys.u64 %0, [%1];" : "=l"(value) : "l"(from) : "memory");
  else if constexpr (scope == Scope::gpu)
    asm volatile("ld.acquire.gpu.u64 %0, [%1];" : "=l"(value) : "l"(from) : "memory");
  else
    asm volatile("ld.relaxed.sys.u64 %0, [%1];" : "=l"(value) : "l"(from) : "memory");
  return value;
}

template <Scope scope>
__device__ void store(Word* to, Word value) {
  if constexpr (scope == Scope::system)
    asm volatile("st.release.sys.u64 [%0], %1;" ::"l"(to), "l"(value) : "memory");
  else if constexpr (scope == Scope::gpu)
    asm volatile("st.release.gpu.u64 [%0], %1;" ::"l"(to), "l"(value) : "memory");
  else
    asm volatile("st.relaxed.sys.u64 [%0], %1;" ::"l"(to), "l"(value) : "memory");
}

/// Two blocks of a thread. Words of different blocks are 512 bytes apart.
template <Scope scope>
__global__ void ping_pong(Word* words, Word* cycles) {
  Word* const mine = words + blockIdx.x * 64;
  Word* const other = words + (1 - blockIdx.x) * 64;
  const Word begin = clock64();
  for (Word turn = 1; turn <= kTurns; ++turn) {
    if (blockIdx.x == 0) store<scope>(other, turn);
    while (load<scope>(mine) < turn) {
    }
    if (blockIdx.x == 1) store<scope>(other, turn);
  }
  if (blockIdx.x == 0) *cycles = clock64() - begin;
}

/// Each load needs the value of the one before.
template <Scope scope>
__global__ void loads(Word* words, Word* cycles) {
  Word value = 0;
  const Word begin = clock64();
  for (int turn = 0; turn < kTurns; ++turn) value = load<scope>(words + (value & 1));
  *cycles = clock64() - begin;
}
template <Scope scope>
__global__ void stores(Word* words, Word* cycles) {
  const Word begin = clock64();
  for (int turn = 0; turn < kTurns; ++turn) store<scope>(words, turn);
  *cycles = clock64() - begin;
}
__global__ void gpu_fences(Word*, Word* cycles) {
  const Word begin = clock64();
  for (int turn = 0; turn < kTurns; ++turn) __threadfence();
  *cycles = clock64() - begin;
}
__global__ void barriers(Word*, Word* cycles) {
  const Word begin = clock64();
  for (int turn = 0; turn < kTurns; ++turn) __syncthreads();
  if (threadIdx.x == 0) *cycles = clock64() - begin;
}
/// A block stores, then its first thread says so.
__global__ void publish(uint4* to, Word* word, Word* cycles, int bytes) {
  const Word begin = clock64();
  for (int turn = 0; turn < kPublished; ++turn) {
    for (int i = threadIdx.x; i < bytes / 16; i += blockDim.x) to[i] = make_uint4(turn, i, 0, 0);
    __syncthreads();
    if (threadIdx.x == 0) store<Scope::system>(word, turn);
    __syncthreads();
  }
  if (threadIdx.x == 0) *cycles = clock64() - begin;
}

/// `depth` loads of a thread are under way at once; with a second array, twice as many.
template <int depth, bool sums>
__global__ void copy(const float4* a, const float4* b, float4* to, size_t count) {
  const size_t stride = size_t{gridDim.x} * blockDim.x;
  size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  for (; i + (depth - 1) * stride < count; i += depth * stride) {
    float4 values[depth];
#pragma unroll
    for (int k = 0; k < depth; ++k) {
      values[k] = a[i + k * stride];
      if constexpr (sums) {
        const float4 other = b[i + k * stride];
        values[k].x += other.x, values[k].y += other.y, values[k].z += other.z, values[k].w += other.w;
      }
    }
#pragma unroll
    for (int k = 0; k < depth; ++k) to[i + k * stride] = values[k];
  }
}
__global__ void nothing() {}

/// The words that kernels exchange, and the clock that they read.
class Words {
 public:
  explicit Words(double ghz) : ghz_(ghz) {
    checked(cudaMalloc(&device, kBytes));
    checked(cudaHostAlloc(&pinned, kBytes, cudaHostAllocMapped | cudaHostAllocPortable));
    checked(cudaHostAlloc(&cycles, sizeof(Word), cudaHostAllocMapped));
  }
  /// The second of two runs counts: the first loads the kernel.
  template <typename Launch>
  void row(const char* what, int times, Launch launch) const {
    for (int run = 0; run < 2; ++run) {
      checked(cudaMemset(device, 0, kBytes));
      std::fill_n(pinned, kBytes / sizeof(Word), 0);
      launch();
      checked(cudaDeviceSynchronize());
    }
    const double each = static_cast<double>(*cycles) / times;
    std::printf("%-60s %9.1f cycles %8.1f ns\n", what, each, each / ghz_);
  }
  Word *device = nullptr, *pinned = nullptr, *cycles = nullptr;

 private:
  static constexpr size_t kBytes = 4096;
  const double ghz_;
};

void print_words(const Words& words) {
  const auto one = [&](const char* what, auto kernel, Word* place) {
    words.row(what, kTurns, [&] { kernel<<<1, 1>>>(place, words.cycles); });
  };
  const auto two = [&](const char* what, auto kernel, Word* place) {
    words.row(what, 2 * kTurns, [&] { kernel<<<2, 1>>>(place, words.cycles); });
  };
  two("a way between blocks, release and acquire, system", ping_pong<Scope::system>, words.device);
  two("a way between blocks, release and acquire, GPU", ping_pong<Scope::gpu>, words.device);
  two("a way between blocks, relaxed", ping_pong<Scope::none>, words.device);
  two("a way between blocks by pinned host memory, relaxed", ping_pong<Scope::none>, words.pinned);
  one("load, acquire, system", loads<Scope::system>, words.device);
  one("load, relaxed", loads<Scope::none>, words.device);
  one("load of pinned host memory, relaxed", loads<Scope::none>, words.pinned);
  one("store, release, system", stores<Scope::system>, words.device);
  one("store, release, GPU", stores<Scope::gpu>, words.device);
  one("store, relaxed", stores<Scope::none>, words.device);
  one("fence of the GPU", gpu_fences, words.device);
}

void print_blocks(const Words& words, float4* array) {
  char what[80];
  for (const int threads : {128, 256, 512, 1024}) {
    std::snprintf(what, sizeof(what), "barrier of %d threads", threads);
    words.row(what, kTurns, [&] { barriers<<<1, threads>>>(words.device, words.cycles); });
  }
  for (const int bytes : {4096, 16384, 65536, 262144}) {
    std::snprintf(what, sizeof(what), "512 threads store %d B, barrier, release, barrier", bytes);
    words.row(what, kPublished, [&] {
      publish<<<1, 512>>>(reinterpret_cast<uint4*>(array), words.device, words.cycles, bytes);
    });
  }
}

/// Seconds of each of several launches, after one that does not count.
template <typename Launch>
double seconds_of(int times, Launch launch) {
  cudaEvent_t begin = nullptr, end = nullptr;
  checked(cudaEventCreate(&begin));
  checked(cudaEventCreate(&end));
  launch();
  checked(cudaEventRecord(begin));
  for (int i = 0; i < times; ++i) launch();
  checked(cudaEventRecord(end));
  checked(cudaEventSynchronize(end));
  float milliseconds = 0;
  checked(cudaEventElapsedTime(&milliseconds, begin, end));
  checked(cudaEventDestroy(begin));
  checked(cudaEventDestroy(end));
  return milliseconds / times * 1e-3;
}

void print_copies(float4* a, float4* b, float4* to) {
  std::printf("\nGB/s of payload    threads  blocks  copy, 1 load  4 loads  8 loads  sum of two, 4 loads\n");
  for (const int threads : {256, 512, 1024}) {
    for (const int blocks : {1, 2, 8, 16, 32, 66, 132}) {
      const size_t bytes = std::min(kArray, size_t{32} * blocks << 20);
      const auto rate = [&](auto kernel) {
        return bytes / seconds_of(3, [&] { kernel<<<blocks, threads>>>(a, b, to, bytes / sizeof(float4)); }) /
               1e9;
      };
      std::printf("%26d %7d %13.1f %8.1f %8.1f %20.1f\n", threads, blocks, rate(copy<1, false>),
                  rate(copy<4, false>), rate(copy<8, false>), rate(copy<4, true>));
    }
  }
  const auto rate = [](void* target, const void* source, size_t bytes, cudaMemcpyKind kind) {
    return bytes / seconds_of(3, [&] { checked(cudaMemcpyAsync(target, source, bytes, kind)); }) / 1e9;
  };
  void* host = nullptr;
  constexpr size_t kHost = size_t{256} << 20;
  checked(cudaHostAlloc(&host, kHost, 0));
  std::printf("cudaMemcpyAsync, GB/s: within the GPU %.1f, from pinned memory %.1f, to pinned memory %.1f\n",
              rate(to, a, kArray, cudaMemcpyDeviceToDevice), rate(to, host, kHost, cudaMemcpyHostToDevice),
              rate(host, a, kHost, cudaMemcpyDeviceToHost));
}

void print_launches() {
  const double queued = seconds_of(1000, [] { nothing<<<1, 32>>>(); });
  std::vector<double> waited;
  for (int i = 0; i < 201; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    nothing<<<1, 32>>>();
    checked(cudaDeviceSynchronize());
    waited.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  std::nth_element(waited.begin(), waited.begin() + 100, waited.end());
  std::printf("launches of an empty kernel: %.2f us each in a queue, %.2f us with waiting (median)\n",
              queued * 1e6, waited[100] * 1e6);
}

}  // namespace

int main() {
  cudaDeviceProp properties{};
  checked(cudaGetDeviceProperties(&properties, 0));
  int khz = 0;
  checked(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, 0));
  std::printf("%s, %d multiprocessors, at most %d MHz\n", properties.name, properties.multiProcessorCount,
              khz / 1000);
  const Words words(khz / 1e6);
  print_words(words);
  float4 *a = nullptr, *b = nullptr, *to = nullptr;
  for (float4** array : {&a, &b, &to}) {
    checked(cudaMalloc(array, kArray));
    checked(cudaMemset(*array, 1, kArray));
  }
  print_blocks(words, to);
  print_copies(a, b, to);
  print_launches();
}
