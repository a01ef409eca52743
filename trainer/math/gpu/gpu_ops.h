// SPDX-License-Identifier: Apache-2.0
/// The arithmetic of training on a GPU: cuBLAS for products, the row-operation kernel for the rest, all on
/// one stream. Arrays are in the GPU's memory.
#pragma once

#include <memory>
#include <string>

#include "trainer/math/gpu/cublas.h"
#include "trainer/math/gpu/gpu.h"
#include "trainer/math/ops.h"

namespace weir::trainer::gpu {

class GpuOps final : public Ops {
 public:
  /// `gpu` outlives it. Errors: those of Cublas and Gpu.
  static Result<std::unique_ptr<GpuOps>> open(Gpu& gpu, Precision precision);
  ~GpuOps() override;

  void run(const ProductShape& shape, const float* a, const float* b, float* c) override;
  void run(const RowCall& call) override;
  void clear(Index count, float* array) override;
  void finish() override;
  std::string description() const override;
  const Status& status() const override { return status_; }

  /// Reports an error of what the caller did on the stream; the first one is kept.
  void note(Status status);
  Gpu& gpu() { return gpu_; }
  Stream stream() const { return stream_; }
  /// The highest rate measured for products of square matrices, in FLOP/s, including the conversion of
  /// operands that training needs as well.
  double measured_peak();

 private:
  double fastest_product(Index size, float* values);
  /// Memory that grows with the requested size.
  struct Scratch {
    void* memory = nullptr;
    size_t bytes = 0;
  };

  GpuOps(Gpu& gpu, Precision precision) : gpu_(gpu), precision_(precision) {}
  /// Returns null after an error.
  void* room(Scratch& scratch, size_t bytes);
  const void* operand(Index count, const float* values, Scratch& scratch);

  Gpu& gpu_;
  Precision precision_;
  Stream stream_ = nullptr;
  std::unique_ptr<Cublas> cublas_;
  Scratch a_, b_;    ///< operands converted to bf16
  Scratch between_;  ///< what a row operation keeps between its kernel calls
  Status status_;
};

}  // namespace weir::trainer::gpu
