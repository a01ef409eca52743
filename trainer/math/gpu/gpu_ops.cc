// SPDX-License-Identifier: Apache-2.0

#include "trainer/math/gpu/gpu_ops.h"

#include <algorithm>
#include <chrono>

#include "trainer/math/gpu/kernel_calls.h"

namespace weir::trainer::gpu {

Result<std::unique_ptr<GpuOps>> GpuOps::open(Gpu& gpu, Precision precision) {
  std::unique_ptr<GpuOps> ops(new GpuOps(gpu, precision));
  Result<Stream> stream = gpu.make_stream();
  WEIR_TRY(stream.status());
  ops->stream_ = *stream;
  Result<std::unique_ptr<Cublas>> cublas = Cublas::open(gpu, ops->stream_);
  WEIR_TRY(cublas.status());
  ops->cublas_ = std::move(*cublas);
  return ops;
}

GpuOps::~GpuOps() {
  if (stream_ != nullptr) (void)gpu_.synchronize(stream_);
  cublas_.reset();
  for (const Scratch* scratch : {&a_, &b_, &between_})
    if (scratch->memory != nullptr) gpu_.free(scratch->memory);
  if (stream_ != nullptr) gpu_.destroy(stream_);
}

void GpuOps::note(Status status) {
  if (status_.ok()) status_ = std::move(status);
}

void* GpuOps::room(Scratch& scratch, size_t bytes) {
  if (scratch.bytes >= bytes && scratch.memory != nullptr) return scratch.memory;
  finish();  // queued work may still use the memory
  if (scratch.memory != nullptr) gpu_.free(scratch.memory);
  scratch = {};
  const Result<void*> memory = gpu_.allocate(bytes);
  note(memory.status());
  if (memory.ok()) scratch = {*memory, bytes};
  return scratch.memory;
}

const void* GpuOps::operand(Index count, const float* values, Scratch& scratch) {
  if (precision_ == Precision::fp32) return values;
  void* const halves = room(scratch, static_cast<size_t>(count) * sizeof(uint16_t));
  run(ToBfloat16{count, values, static_cast<uint16_t*>(halves)});
  return halves;
}

void GpuOps::run(const ProductShape& shape, const float* a, const float* b, float* c) {
  if (!status_.ok()) return;
  const void* const first = operand(shape.span_a(), a, a_);
  const void* const second = operand(shape.span_b(), b, b_);
  if (!status_.ok()) return;
  note(cublas_->multiply(shape, precision_ == Precision::bf16, first, second, c));
}

void GpuOps::run(const RowCall& call) {
  if (!status_.ok()) return;
  void* scratch = nullptr;
  if (const size_t bytes = scratch_bytes(call); bytes > 0) scratch = room(between_, bytes);
  each_kernel_call(call, scratch, [&](const KernelCall& one, Index items) {
    if (status_.ok()) note(gpu_.launch(launch_of(one), items, stream_));
  });
}

void GpuOps::clear(Index count, float* array) {
  if (status_.ok()) note(gpu_.clear(array, static_cast<size_t>(count) * sizeof(float), stream_));
}

void GpuOps::finish() { note(gpu_.synchronize(stream_)); }

std::string GpuOps::description() const {
  return "cuBLAS " + cublas_->version() + (precision_ == Precision::bf16 ? ", bf16, " : ", fp32, ") +
         gpu_.description();
}

double GpuOps::measured_peak() {
  constexpr Index kLargest = 4096;
  Scratch matrices;
  auto* const values = static_cast<float*>(room(matrices, 2 * kLargest * kLargest * sizeof(float)));
  double best = 0;
  double seconds = 0;
  // Matrices grow until they are large enough to measure.
  for (Index size = 256; status_.ok() && size <= kLargest && seconds < 5e-3; size *= 2) {
    seconds = fastest_product(size, values);
    best = std::max(best, 2.0 * static_cast<double>(size * size * size) / seconds);
  }
  if (values != nullptr) gpu_.free(values);
  return best;
}

/// The first of three products also loads what cuBLAS needs.
double GpuOps::fastest_product(Index size, float* values) {
  using Clock = std::chrono::steady_clock;
  double best = 1e9;
  for (int round = 0; round < 3; ++round) {
    const Clock::time_point begin = Clock::now();
    run(ProductShape{.rows = size, .depth = size, .columns = size}, values, values, values + size * size);
    finish();
    best = std::min(best, std::chrono::duration<double>(Clock::now() - begin).count());
  }
  return best;
}

}  // namespace weir::trainer::gpu
