// SPDX-License-Identifier: Apache-2.0
/// The arithmetic of training on one device: matrix products and row kernels on arrays in its memory.
///
/// One object per rank, used by one thread at a time. Calls are carried out in order; on a GPU they are
/// queued, so their arrays must stay valid until finish(). After an error all further calls do nothing: check
/// status() once per unit or step. Same device and same calls: same bits.
#pragma once

#include <string>

#include "src/base/status.h"
#include "trainer/math/products.h"
#include "trainer/math/row_calls.h"

namespace weir::trainer {

class Ops {
 public:
  Ops() = default;
  virtual ~Ops() = default;
  Ops(const Ops&) = delete;
  Ops& operator=(const Ops&) = delete;

  /// Computes matrix products, see ProductShape.
  virtual void run(const ProductShape& shape, const float* a, const float* b, float* c) = 0;
  /// Runs a row kernel, see rows.h.
  virtual void run(const RowCall& call) = 0;
  /// array[0 .. count) = 0
  virtual void clear(Index count, float* array) = 0;
  /// Waits until all calls are complete.
  virtual void finish() = 0;
  /// The implementation, for logs: "oneDNN 2.6.3, fp32".
  virtual std::string description() const = 0;
  /// The first error of all calls, or success.
  virtual const Status& status() const = 0;
};

/// The CPU implementation: all calls are complete on return.
class CpuOps final : public Ops {
 public:
  explicit CpuOps(Precision precision) : products_(precision) {}

  void run(const ProductShape& shape, const float* a, const float* b, float* c) override {
    products_.run(shape, a, b, c);
  }
  void run(const RowCall& call) override;
  void clear(Index count, float* array) override;
  void finish() override {}
  std::string description() const override;
  const Status& status() const override { return products_.status(); }

  Products& products() { return products_; }
  const Products& products() const { return products_; }

 private:
  Products products_;
};

}  // namespace weir::trainer
