// SPDX-License-Identifier: Apache-2.0
// Bandwidth of the reductions of src/device compared with memcpy. The figure is bytes written (the size of
// the destination) per second, for two sources unless the name says otherwise.
#include <benchmark/benchmark.h>

#include <cstring>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "src/device/reduce.h"
#include "src/device/reduce_kernels.h"

namespace weir::device {
namespace {

constexpr int64_t kSizes[] = {4 << 10, 64 << 10, 4 << 20};

/// Allocates memory aligned to cache lines.
template <typename T>
struct LineAllocator {
  using value_type = T;
  T* allocate(size_t count) {
    return static_cast<T*>(::operator new (count * sizeof(T), std::align_val_t{64}));
  }
  void deallocate(T* data, size_t) { ::operator delete (data, std::align_val_t{64}); }
  bool operator==(const LineAllocator&) const = default;
};
using Buffer = std::vector<unsigned char, LineAllocator<unsigned char>>;

/// Values near one in every type, so that nothing overflows or is denormal.
Buffer ordinary(DataType type, size_t bytes) {
  Buffer data(bytes);
  std::mt19937 random(1);
  for (size_t i = 0; i + size_of(type) <= bytes; i += size_of(type)) {
    Scalar value{};
    if (is_float(type)) {
      value = ratio(type, 1.0 + random() % 16, 16.0);
    } else {
      value.bits[0] = static_cast<unsigned char>(random() % 5);
    }
    std::memcpy(&data[i], value.bits, size_of(type));
  }
  return data;
}

void report(benchmark::State& state, size_t bytes) {
  state.SetBytesProcessed(static_cast<int64_t>(bytes) * state.iterations());
}

void memory_copy(benchmark::State& state, Traffic traffic) {
  const auto bytes = static_cast<size_t>(state.range(0));
  const auto src = ordinary(DataType::uint8, bytes);
  auto dst = src;
  for (auto _ : state) {
    copy(dst.data(), src.data(), bytes, traffic);
    benchmark::ClobberMemory();
  }
  report(state, bytes);
}

void folds(benchmark::State& state, DataType type, RedOp op, int sources, Traffic traffic) {
  const auto bytes = static_cast<size_t>(state.range(0));
  const std::vector<Buffer> rows(static_cast<size_t>(sources), ordinary(type, bytes));
  std::vector<const void*> src;
  for (const auto& row : rows) src.push_back(row.data());
  auto dst = rows[0];
  for (auto _ : state) {
    fold(type, op, dst.data(), src.data(), sources, bytes / size_of(type), traffic);
    benchmark::ClobberMemory();
  }
  report(state, bytes);
}

/// One instruction set alone.
void folds_with(benchmark::State& state, const Kernels& kernels, DataType type, RedOp op) {
  const auto bytes = static_cast<size_t>(state.range(0));
  const auto first = ordinary(type, bytes);
  const auto second = first;
  auto dst = first;
  const uint8_t* src[] = {first.data(), second.data()};
  for (auto _ : state) {
    kernels.at(type, op).pair(dst.data(), src, 2, bytes);
    benchmark::ClobberMemory();
  }
  report(state, bytes);
}

template <typename... Args>
auto* add(const std::string& name, Args... args) {
  auto* bench = benchmark::RegisterBenchmark(name.c_str(), args...);
  return bench;
}

void add_sizes(benchmark::internal::Benchmark* bench) {
  for (const int64_t size : kSizes) bench->Arg(size);
}

int register_all() {
  add_sizes(add("copy", memory_copy, Traffic::cached));
  add_sizes(add("copy/streaming", memory_copy, Traffic::streaming));
  for (int kind = 0; kind < kDataTypes; ++kind) {
    const auto type = static_cast<DataType>(kind);
    for (const RedOp op : {RedOp::sum, RedOp::prod, RedOp::max}) {
      const std::string what = std::string(name(op)) + "/" + std::string(name(type));
      add_sizes(add("fold/" + what, folds, type, op, 2, Traffic::cached));
    }
  }
  for (const int64_t floats : {2, 3, 16, 64, 256}) {
    add("fold/small/float32", folds, DataType::float32, RedOp::sum, 2, Traffic::cached)->Arg(floats * 4);
  }
  for (const int sources : {4, 8}) {
    const std::string what = "fold/sum/float32/sources:" + std::to_string(sources);
    add_sizes(add(what, folds, DataType::float32, RedOp::sum, sources, Traffic::cached));
  }
  for (const int64_t size : {4 << 20, 64 << 20}) {
    add("fold/sum/float32/streaming", folds, DataType::float32, RedOp::sum, 2, Traffic::streaming)->Arg(size);
    add("fold/sum/float32/cached", folds, DataType::float32, RedOp::sum, 2, Traffic::cached)->Arg(size);
  }
  for (const Kernels& kernels : supported_kernels()) {
    for (const DataType type :
         {DataType::float32, DataType::float16, DataType::bfloat16, DataType::float8e4m3}) {
      const std::string what = std::string(kernels.name) + "/sum/" + std::string(name(type));
      benchmark::RegisterBenchmark(("isa/" + what).c_str(), [&kernels, type](benchmark::State& state) {
        folds_with(state, kernels, type, RedOp::sum);
      })->Arg(64 << 10);
    }
  }
  return 0;
}

const int registered = register_all();

}  // namespace
}  // namespace weir::device
