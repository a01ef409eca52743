// SPDX-License-Identifier: Apache-2.0

#include "trainer/math/gpu/cublas.h"

#include <fmt/format.h>

namespace weir::trainer::gpu {

/// Names and types follow cublas_api.h, releases 11 to 13.
struct CublasTable {
  int (*create)(void**) = nullptr;
  int (*destroy)(void*) = nullptr;
  int (*set_stream)(void*, void*) = nullptr;
  int (*set_workspace)(void*, void*, size_t) = nullptr;
  int (*set_math_mode)(void*, int) = nullptr;
  int (*set_atomics_mode)(void*, int) = nullptr;
  int (*version)(void*, int*) = nullptr;
  const char* (*status_string)(int) = nullptr;
  int (*multiply)(void*, int, int, int, int, int, const void*, const void*, int, int, const void*, int, int,
                  const void*, void*, int, int, int, int) = nullptr;
  int (*multiply_many)(void*, int, int, int, int, int, const void*, const void*, int, int, long long,
                       const void*, int, int, long long, const void*, void*, int, int, long long, int, int,
                       int) = nullptr;
};

namespace {

constexpr size_t kWorkspaceBytes = size_t{32} << 20;  // cuBLAS's recommendation for its newest GPUs
constexpr int kFloat32 = 0;                           // CUDA_R_32F
constexpr int kBfloat16 = 14;                         // CUDA_R_16BF
constexpr int kAddInFloat32 = 68;                     // CUBLAS_COMPUTE_32F: no TF32
constexpr int kDefaultMath = 0;                       // CUBLAS_DEFAULT_MATH: no TF32 either
constexpr int kNoAtomics = 0;                         // CUBLAS_ATOMICS_NOT_ALLOWED
constexpr int kDefaultAlgorithm = -1;                 // CUBLAS_GEMM_DEFAULT

Result<std::unique_ptr<CublasTable>> load_table() {
  const Result<Library> library = Library::open({"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"});
  if (!library.ok())
    return Status(Code::system_error, "cuBLAS could not be loaded: " + library.status().message());
  auto table = std::make_unique<CublasTable>();
  const char* missing = nullptr;
  const auto find = [&](const char* name, auto*& function) {
    if (!library->find(name, function)) missing = name;
  };
  find("cublasCreate_v2", table->create);
  find("cublasDestroy_v2", table->destroy);
  find("cublasSetStream_v2", table->set_stream);
  find("cublasSetWorkspace_v2", table->set_workspace);
  find("cublasSetMathMode", table->set_math_mode);
  find("cublasSetAtomicsMode", table->set_atomics_mode);
  find("cublasGetVersion_v2", table->version);
  find("cublasGetStatusString", table->status_string);
  find("cublasGemmEx", table->multiply);
  find("cublasGemmStridedBatchedEx", table->multiply_many);
  if (missing != nullptr)
    return Status(Code::system_error, fmt::format("cuBLAS has no function {}", missing));
  return table;
}

}  // namespace

Cublas::Cublas(Gpu& gpu, std::unique_ptr<CublasTable> table) : gpu_(gpu), table_(std::move(table)) {}

Cublas::~Cublas() {
  if (handle_ != nullptr) (void)table_->destroy(handle_);
  if (workspace_ != nullptr) gpu_.free(workspace_);
}

Result<std::unique_ptr<Cublas>> Cublas::open(Gpu& gpu, Stream stream) {
  Result<std::unique_ptr<CublasTable>> table = load_table();
  WEIR_TRY(table.status());
  std::unique_ptr<Cublas> cublas(new Cublas(gpu, std::move(*table)));
  WEIR_TRY(cublas->start(stream));
  return cublas;
}

Status Cublas::start(Stream stream) {
  Result<void*> workspace = gpu_.allocate(kWorkspaceBytes);
  WEIR_TRY(workspace.status());
  workspace_ = *workspace;
  WEIR_TRY(checked(table_->create(&handle_), "initialising cuBLAS"));
  WEIR_TRY(checked(table_->set_stream(handle_, stream), "setting cuBLAS's stream"));
  // Must follow set_stream, which resets the workspace.
  WEIR_TRY(
      checked(table_->set_workspace(handle_, workspace_, kWorkspaceBytes), "setting cuBLAS's workspace"));
  WEIR_TRY(checked(table_->set_math_mode(handle_, kDefaultMath), "setting cuBLAS's math mode"));
  return checked(table_->set_atomics_mode(handle_, kNoAtomics), "setting cuBLAS's atomics mode");
}

Status Cublas::checked(int code, const std::string& what) const {
  if (code == 0) return {};
  return Status(Code::system_error,
                fmt::format("{} on {}: {}", what, gpu_.description(), table_->status_string(code)));
}

/// cuBLAS's matrices are column-major, so it is given C^T = op(B)^T op(A)^T: B first.
Status Cublas::multiply(const ProductShape& shape, bool half, const void* a, const void* b, float* c) {
  if (shape.count == 0 || shape.rows == 0 || shape.columns == 0) return {};
  const float one = 1;
  const float kept = shape.accumulate ? 1 : 0;
  const int type = half ? kBfloat16 : kFloat32;
  const auto number = [](Index index) { return static_cast<int>(index); };
  const int rows = number(shape.rows), columns = number(shape.columns), depth = number(shape.depth);
  const int of_a = shape.transpose_a ? 1 : 0, of_b = shape.transpose_b ? 1 : 0;
  const int a_line = shape.transpose_a ? rows : depth, b_line = shape.transpose_b ? depth : columns;
  const int code =
      shape.count == 1
          ? table_->multiply(handle_, of_b, of_a, columns, rows, depth, &one, b, type, b_line, a, type,
                             a_line, &kept, c, kFloat32, columns, kAddInFloat32, kDefaultAlgorithm)
          : table_->multiply_many(handle_, of_b, of_a, columns, rows, depth, &one, b, type, b_line,
                                  shape.step_b(), a, type, a_line, shape.step_a(), &kept, c, kFloat32,
                                  columns, shape.step_c(), number(shape.count), kAddInFloat32,
                                  kDefaultAlgorithm);
  if (code == 0) return {};
  return checked(code,
                 fmt::format("{} products of {} x {} by {} x {}", shape.count, rows, depth, depth, columns));
}

std::string Cublas::version() const {
  int version = 0;
  (void)table_->version(handle_, &version);
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

}  // namespace weir::trainer::gpu
