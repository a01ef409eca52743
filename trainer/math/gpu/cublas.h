// SPDX-License-Identifier: Apache-2.0
/// Matrix products by cuBLAS, loaded at run time. There is one object per stream with a workspace of its own,
/// so that work on other streams does not change how a product is computed; no TF32, no atomics. On one GPU
/// model and release the same shapes and numbers give the same bits.
#pragma once

#include <memory>
#include <string>

#include "trainer/math/gpu/gpu.h"
#include "trainer/math/products.h"

namespace weir::trainer::gpu {

struct CublasTable;

/// Used by one thread at a time.
class Cublas {
 public:
  /// Opens cuBLAS on a stream of the current GPU. system_error if cuBLAS is not found or fails to start.
  static Result<std::unique_ptr<Cublas>> open(Gpu& gpu, Stream stream);
  ~Cublas();
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;

  /// Queues the products; operands are fp32, or bf16 if `half`; C is fp32, and sums are in fp32.
  Status multiply(const ProductShape& shape, bool half, const void* a, const void* b, float* c);

  /// The release, such as "13.0.2".
  std::string version() const;

 private:
  Cublas(Gpu& gpu, std::unique_ptr<CublasTable> table);
  Status start(Stream stream);
  Status checked(int code, const std::string& what) const;

  Gpu& gpu_;
  std::unique_ptr<CublasTable> table_;
  void* handle_ = nullptr;
  void* workspace_ = nullptr;
};

}  // namespace weir::trainer::gpu
