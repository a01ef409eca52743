// SPDX-License-Identifier: Apache-2.0

#include "trainer/math/products.h"

#include <fmt/format.h>
#include <omp.h>

#include <dnnl_debug.h>
#include <algorithm>
#include <chrono>
#include <dnnl.hpp>
#include <limits>
#include <map>
#include <optional>
#include <string_view>

#include "trainer/math/buffer.h"
#include "trainer/math/open_blas.h"
#include "trainer/math/rows.h"

namespace weir::trainer {
namespace {

using Type = dnnl::memory::data_type;

/// `step`: elements from one matrix to the next.
dnnl::memory::desc matrices(Index count, Index step, Index rows, Index columns, bool transposed, Type type) {
  const dnnl::memory::dims strides =
      transposed ? dnnl::memory::dims{step, 1, rows} : dnnl::memory::dims{step, columns, 1};
  if (count == 1) return {{rows, columns}, type, {strides[1], strides[2]}};
  return {{count, rows, columns}, type, strides};
}

dnnl::matmul::primitive_desc describe(const ProductShape& shape, Type type, const dnnl::engine& engine) {
  const auto a = matrices(shape.count, shape.step_a(), shape.rows, shape.depth, shape.transpose_a, type);
  const auto b = matrices(shape.count, shape.step_b(), shape.depth, shape.columns, shape.transpose_b, type);
  const auto c = matrices(shape.count, shape.step_c(), shape.rows, shape.columns, false, Type::f32);
  dnnl::primitive_attr attributes;
  if (shape.accumulate) {
    dnnl::post_ops after;
    after.append_sum(1.0f);
    attributes.set_post_ops(after);
  }
#if DNNL_VERSION_MAJOR >= 3
  return {engine, a, b, c, attributes};
#else
  return {dnnl::matmul::desc(a, b, c), attributes, engine};
#endif
}

// Whether the processor multiplies bf16; without AVX-512 oneDNN does not support it.
bool has_bfloat16(const dnnl::engine& engine) {
  try {
    ProductShape shape;
    shape.rows = shape.depth = shape.columns = 32;
    describe(shape, Type::bf16, engine);
    return true;
  } catch (const dnnl::error&) {
    return false;
  }
}

/// oneDNN's name of the processor's instruction set, as far as oneDNN may use it.
std::string_view instruction_set() {
  constexpr std::string_view kPrefix = "cpu_isa_";
  std::string_view name = dnnl_cpu_isa2str(dnnl_get_effective_cpu_isa());
  if (name.starts_with(kPrefix)) name.remove_prefix(kPrefix.size());
  return name;
}

/// Whether OpenBLAS is faster than oneDNN.
bool prefers_open_blas() {
  const std::string_view name = instruction_set();
  return !name.starts_with("avx512") && !name.starts_with("avx10") && open_blas::knows_processor();
}

}  // namespace

class Products::State {
 public:
  explicit State(Precision precision)
      : precision_(precision),
        engine_(dnnl::engine::kind::cpu, 0),
        stream_(engine_),
        native_(precision == Precision::fp32 || has_bfloat16(engine_)),
        type_(precision == Precision::bf16 && native_ ? Type::bf16 : Type::f32),
        prefers_open_blas_(type_ == Type::f32 && prefers_open_blas()) {}

  void run(const ProductShape& shape, const float* a, const float* b, float* c) {
    if (!status_.ok()) return;
    try {
      execute(shape, operand(shape.span_a(), a, a_), operand(shape.span_b(), b, b_), c);
      ++runs_;
    } catch (const dnnl::error& error) {
      status_ =
          Status(Code::internal_error,
                 fmt::format("{} refused a product of {} x {} by {} x {} ({} of them): {}", products_code(),
                             shape.rows, shape.depth, shape.depth, shape.columns, shape.count, error.what()));
    }
  }

  Precision precision() const { return precision_; }
  bool native() const { return native_; }
  const Status& status() const { return status_; }
  Index runs() const { return runs_; }
  Index shapes() const { return static_cast<Index>(prepared_.size()); }

 private:
  // oneDNN's primitives for one shape; the memory objects point to the operands of the current call.
  struct Prepared {
    dnnl::memory a;
    dnnl::memory b;
    dnnl::memory c;
    dnnl::matmul product;
  };

  Prepared prepare(const ProductShape& shape) {
    const auto memory = [&](const dnnl::memory::desc& of) {
      return dnnl::memory(of, engine_, DNNL_MEMORY_NONE);
    };
    const auto description = describe(shape, type_, engine_);
    return {memory(description.src_desc()), memory(description.weights_desc()),
            memory(description.dst_desc()), dnnl::matmul(description)};
  }

  // Converts the operands to the product's precision. oneDNN takes pointers to non-const.
  float* operand(Index count, const float* values, Buffer& scratch) {
    if (precision_ == Precision::fp32) return const_cast<float*>(values);
    if (scratch.size() < count) scratch = Buffer(count);
    if (native_)
      to_bfloat16(count, values, reinterpret_cast<uint16_t*>(scratch.data()));
    else
      round_to_bfloat16(count, values, scratch.data());
    return scratch.data();
  }

  void execute(const ProductShape& shape, float* a, float* b, float* c) {
    auto found = prepared_.find(shape);
    if (found == prepared_.end()) {
      const bool by_open_blas = prefers_open_blas_ && open_blas::can_run(shape);
      found = prepared_.emplace(shape, by_open_blas ? std::nullopt : std::optional(prepare(shape))).first;
    }
    if (!found->second) {
      open_blas::run(shape, a, b, c);
      return;
    }
    Prepared& ready = *found->second;
    ready.a.set_data_handle(a);
    ready.b.set_data_handle(b);
    ready.c.set_data_handle(c);
    ready.product.execute(stream_,
                          {{DNNL_ARG_SRC, ready.a}, {DNNL_ARG_WEIGHTS, ready.b}, {DNNL_ARG_DST, ready.c}});
    stream_.wait();
  }

  Precision precision_;
  dnnl::engine engine_;
  dnnl::stream stream_;
  bool native_;
  Type type_;  ///< of the operands of products
  bool prefers_open_blas_;
  Status status_;
  Index runs_ = 0;
  std::map<ProductShape, std::optional<Prepared>> prepared_;  ///< without a value: OpenBLAS multiplies it
  Buffer a_;
  Buffer b_;
};

Products::Products(Precision precision) : state_(std::make_unique<State>(precision)) {}
Products::~Products() = default;

void Products::run(const ProductShape& shape, const float* a, const float* b, float* c) {
  state_->run(shape, a, b, c);
}

const Status& Products::status() const { return state_->status(); }
bool Products::native() const { return state_->native(); }
Precision Products::precision() const { return state_->precision(); }
Index Products::runs() const { return state_->runs(); }
Index Products::shapes() const { return state_->shapes(); }

void use_threads(int count) {
  omp_set_num_threads(count);
  open_blas::use_threads(count);
}

std::string products_code() {
  const dnnl_version_t* version = dnnl_version();
  std::string code = fmt::format("oneDNN {}.{}.{} for {}", version->major, version->minor, version->patch,
                                 instruction_set());
  if (prefers_open_blas()) code += " with " + open_blas::code();
  return code;
}

double measured_peak(Products& products) {
  using Clock = std::chrono::steady_clock;
  constexpr Index kLargest = 1024;
  constexpr double kEnough = 1e-3;  // seconds of a product that is long enough to measure
  const Buffer a(kLargest * kLargest);
  const Buffer b(kLargest * kLargest);
  Buffer c(kLargest * kLargest);
  double best = 0;
  double seconds = 0;
  for (Index size = 256; size <= kLargest && seconds < kEnough; size *= 2) {
    const ProductShape shape{.rows = size, .depth = size, .columns = size};
    seconds = std::numeric_limits<double>::infinity();
    for (int round = 0; round < 5; ++round) {  // the first round also generates oneDNN's code
      const Clock::time_point begin = Clock::now();
      products.run(shape, a.data(), b.data(), c.data());
      seconds = std::min(seconds, std::chrono::duration<double>(Clock::now() - begin).count());
    }
    best = std::max(best, 2.0 * static_cast<double>(size * size * size) / seconds);
  }
  return best;
}

}  // namespace weir::trainer
