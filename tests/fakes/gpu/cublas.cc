// SPDX-License-Identifier: Apache-2.0
// libcublas.so.13 of the stand-in: products by plain loops, in the order of the stream, on the stand-in's
// GPU.
//
// It is strict about what real ones only document: a handle is given its stream once, then a workspace in the
// GPU's memory, is used by the thread that made it, with fp32 sums, dense enough leading dimensions and
// aligned operands in the GPU's memory. What is wrong is printed and answered with
// CUBLAS_STATUS_INVALID_VALUE.
#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "trainer/math/bfloat16.h"

extern "C" {
int cuModuleLoadData(void**, const void*);
int cuModuleGetFunction(void**, void*, const char*);
int cuLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                   void**);
int cuPointerGetAttributes(unsigned, int*, void**, unsigned long long);
}

namespace {

constexpr int kSuccess = 0;
constexpr int kNotInitialized = 1;
constexpr int kInvalidValue = 7;
constexpr int kExecutionFailed = 13;
constexpr int kFloat = 0, kHalf = 14, kFloatSums = 68;
constexpr unsigned kBlocks = 4;

struct Handle {
  std::thread::id thread = std::this_thread::get_id();
  void* stream = nullptr;
  void* workspace = nullptr;
  void* kernel = nullptr;
};

/// Matrices by columns, `line` elements apart; `many` matrices `step` elements apart.
struct Operand {
  const void* values;
  int type;
  int line;
  long long step;
  int transposed;
};
struct Product {
  Operand a, b;
  float* c;
  int c_line;
  long long c_step;
  int rows, columns, depth, many;
  float factor, kept;
};

float element(const Operand& of, int matrix, int row, int column) {
  const long long at =
      of.step * matrix + (of.transposed != 0 ? static_cast<long long>(row) * of.line + column
                                             : static_cast<long long>(column) * of.line + row);
  return of.type == kHalf ? weir::trainer::from_bfloat16(static_cast<const uint16_t*>(of.values)[at])
                          : static_cast<const float*>(of.values)[at];
}

bool refused(const char* reason) {
  std::fprintf(stderr, "stand-in of cuBLAS: %s\n", reason);
  return true;
}

bool in_gpu(const void* pointer) {
  int memory = 0;
  int attribute = 2;  // CU_POINTER_ATTRIBUTE_MEMORY_TYPE
  void* value = &memory;
  return cuPointerGetAttributes(1, &attribute, &value, reinterpret_cast<unsigned long long>(pointer)) == 0 &&
         memory == 2;
}

bool wrong_operand(const Operand& of, int rows, int columns, int many) {
  const int least = of.transposed != 0 ? columns : rows;
  const int other = of.transposed != 0 ? rows : columns;
  if (of.type != kFloat && of.type != kHalf) return refused("operands of a type that is not known");
  if (of.line < least) return refused("a leading dimension below the matrix's");
  if (many > 1 && of.step < static_cast<long long>(of.line) * other) return refused("matrices overlap");
  if (reinterpret_cast<uintptr_t>(of.values) % (of.type == kHalf ? 2 : 4) != 0)
    return refused("an operand is not aligned to its elements");
  if (!in_gpu(of.values)) return refused("an operand is not in the GPU's memory");
  return false;
}

bool wrong(const Handle& handle, const Product& product, int c_type, int sums) {
  if (handle.thread != std::this_thread::get_id()) return refused("a handle of another thread");
  if (handle.stream == nullptr) return refused("a handle without a stream of its own");
  if (handle.workspace == nullptr) return refused("a handle without a workspace");
  if (sums != kFloatSums || c_type != kFloat) return refused("sums are not in fp32, or may be in TF32");
  if (product.rows < 0 || product.columns < 0 || product.depth < 0 || product.many < 0)
    return refused("a negative size");
  if (product.c_line < product.rows) return refused("a leading dimension below the result's");
  if (!in_gpu(product.c)) return refused("the result is not in the GPU's memory");
  return wrong_operand(product.a, product.rows, product.depth, product.many) ||
         wrong_operand(product.b, product.depth, product.columns, product.many);
}

int queue(const Handle& handle, Product product, int c_type, int sums) {
  if (wrong(handle, product, c_type, sums)) return kInvalidValue;
  void* arguments[] = {&product};
  const int code =
      cuLaunchKernel(handle.kernel, kBlocks, 1, 1, 1, 1, 1, 0, handle.stream, arguments, nullptr);
  return code == 0 ? kSuccess : kExecutionFailed;
}

}  // namespace

extern "C" {

extern const size_t fake_cublas_product_argument_bytes = sizeof(Product);
/// A share of the columns of the result per block. Each element is summed in the order of the depth.
void fake_cublas_product(const void* argument, uint32_t block, uint32_t blocks) {
  const Product& p = *static_cast<const Product*>(argument);
  if (block >= static_cast<uint32_t>(p.columns)) return;
  const auto rows = static_cast<size_t>(p.rows);
  std::vector<float> a(rows * static_cast<size_t>(p.depth)), sums(rows);
  for (int matrix = 0; matrix < p.many; ++matrix) {
    for (int at = 0; at < p.depth; ++at)
      for (int row = 0; row < p.rows; ++row)
        a[static_cast<size_t>(at) * rows + static_cast<size_t>(row)] = element(p.a, matrix, row, at);
    for (int column = static_cast<int>(block); column < p.columns; column += static_cast<int>(blocks)) {
      std::fill(sums.begin(), sums.end(), 0.0F);
      for (int at = 0; at < p.depth; ++at) {
        const float b = element(p.b, matrix, at, column);
        const float* const line = &a[static_cast<size_t>(at) * rows];
        for (size_t row = 0; row < rows; ++row) sums[row] += line[row] * b;
      }
      float* const c = p.c + p.c_step * matrix + static_cast<long long>(column) * p.c_line;
      // As the real ones do, c is not read where nothing of it is kept.
      for (size_t row = 0; row < rows; ++row)
        c[row] = p.kept == 0 ? p.factor * sums[row] : p.factor * sums[row] + p.kept * c[row];
    }
  }
}

int cublasCreate_v2(void** handle) {
  auto* const made = new Handle;
  Dl_info self = {};
  if (dladdr(reinterpret_cast<void*>(&cublasCreate_v2), &self) == 0) return kNotInitialized;
  const std::string image = std::string("fake-gpu-module:") + self.dli_fname;
  void* module = nullptr;
  if (cuModuleLoadData(&module, image.c_str()) != 0 ||
      cuModuleGetFunction(&made->kernel, module, "fake_cublas_product") != 0)
    return kNotInitialized;
  *handle = made;
  return kSuccess;
}
int cublasDestroy_v2(void* handle) {
  delete static_cast<Handle*>(handle);
  return kSuccess;
}
int cublasSetStream_v2(void* handle, void* stream) {
  Handle& of = *static_cast<Handle*>(handle);
  if (of.stream != nullptr && of.stream != stream && refused("a handle for two streams"))
    return kInvalidValue;
  of.stream = stream;
  of.workspace = nullptr;  // the real one goes back to its own
  return kSuccess;
}
int cublasSetWorkspace_v2(void* handle, void* workspace, size_t bytes) {
  if (bytes == 0 || reinterpret_cast<uintptr_t>(workspace) % 256 != 0 || !in_gpu(workspace)) {
    refused("a workspace that is empty, not aligned to 256 bytes or not in the GPU's memory");
    return kInvalidValue;
  }
  static_cast<Handle*>(handle)->workspace = workspace;
  return kSuccess;
}
int cublasSetMathMode(void*, int mode) { return mode == 0 || mode == 2 ? kSuccess : kInvalidValue; }
int cublasSetAtomicsMode(void*, int mode) { return mode == 0 ? kSuccess : kInvalidValue; }
int cublasGetVersion_v2(void*, int* version) { return *version = 130000, kSuccess; }
const char* cublasGetStatusString(int status) {
  return status == kSuccess           ? "CUBLAS_STATUS_SUCCESS"
         : status == kInvalidValue    ? "CUBLAS_STATUS_INVALID_VALUE"
         : status == kExecutionFailed ? "CUBLAS_STATUS_EXECUTION_FAILED"
                                      : "CUBLAS_STATUS_NOT_INITIALIZED";
}
int cublasGemmEx(void* handle, int of_a, int of_b, int m, int n, int k, const void* alpha, const void* a,
                 int a_type, int a_line, const void* b, int b_type, int b_line, const void* beta, void* c,
                 int c_type, int c_line, int sums, int) {
  return queue(*static_cast<Handle*>(handle),
               {{a, a_type, a_line, 0, of_a},
                {b, b_type, b_line, 0, of_b},
                static_cast<float*>(c),
                c_line,
                0,
                m,
                n,
                k,
                1,
                *static_cast<const float*>(alpha),
                *static_cast<const float*>(beta)},
               c_type, sums);
}
int cublasGemmStridedBatchedEx(void* handle, int of_a, int of_b, int m, int n, int k, const void* alpha,
                               const void* a, int a_type, int a_line, long long a_step, const void* b,
                               int b_type, int b_line, long long b_step, const void* beta, void* c,
                               int c_type, int c_line, long long c_step, int many, int sums, int) {
  return queue(*static_cast<Handle*>(handle),
               {{a, a_type, a_line, a_step, of_a},
                {b, b_type, b_line, b_step, of_b},
                static_cast<float*>(c),
                c_line,
                c_step,
                m,
                n,
                k,
                many,
                *static_cast<const float*>(alpha),
                *static_cast<const float*>(beta)},
               c_type, sums);
}
}
