// SPDX-License-Identifier: Apache-2.0

#include "python/weir_torch/tensors.h"

#include <c10/util/StringUtil.h>

#include <algorithm>
#include <cstring>

#include "python/weir_torch/words.h"

namespace weir_torch {
namespace {

char* bytes_of(const at::Tensor& tensor) { return static_cast<char*>(tensor.data_ptr()); }

}  // namespace

Wire wire_of(at::ScalarType type) {
  switch (type) {
    case at::kChar: return {ncclInt8, 1};
    case at::kInt: return {ncclInt32, 1};
    case at::kLong: return {ncclInt64, 1};
    case at::kHalf: return {ncclFloat16, 1};
    case at::kBFloat16: return {ncclBfloat16, 1};
    case at::kFloat: return {ncclFloat32, 1};
    case at::kDouble: return {ncclFloat64, 1};
    case at::kComplexHalf: return {ncclFloat16, 2};
    case at::kComplexFloat: return {ncclFloat32, 2};
    case at::kComplexDouble: return {ncclFloat64, 2};
#ifdef WEIR_TORCH_HAS_FLOAT8
    case at::kFloat8_e4m3fn: return {ncclFloat8e4m3, 1};
    case at::kFloat8_e5m2: return {ncclFloat8e5m2, 1};
#endif
#ifdef WEIR_TORCH_HAS_UNSIGNED
    case at::kUInt32: return {ncclUint32, 1};
    case at::kUInt64: return {ncclUint64, 1};
#endif
    default: return {ncclUint8, c10::elementSize(type)};
  }
}

size_t count_on(const Wire& wire, const at::Tensor& tensor) {
  return static_cast<size_t>(tensor.numel()) * wire.per_element;
}

void check_tensor(const at::Tensor& tensor, const char* operation) {
  if (!tensor.defined()) refuse(std::string(operation) + " was given an undefined tensor");
  if (!tensor.device().is_cpu() && !tensor.device().is_cuda()) {
    refuse(std::string(operation) + " was given a tensor on " + tensor.device().str() +
           ", expected one on the CPU or on a GPU of CUDA or ROCm");
  }
  if (tensor.layout() != at::kStrided) {
    refuse(std::string(operation) + " was given a sparse tensor, expected a dense one");
  }
}

void check_sparse(const at::Tensor& tensor, const char* operation) {
  if (tensor.defined() && tensor.layout() == at::kSparse && tensor.device().is_cpu()) return;
  refuse(std::string(operation) + " was given " +
         (tensor.defined() ? c10::str("a tensor of layout ", tensor.layout(), " on ", tensor.device())
                           : "an undefined tensor") +
         ", expected a sparse one (COO) on the CPU");
}

void check_tensors(const Tensors& tensors, const char* operation) {
  for (const at::Tensor& tensor : tensors) {
    check_tensor(tensor, operation);
    if (tensor.scalar_type() != tensors.front().scalar_type()) {
      refuse(std::string(operation) + " was given tensors of " +
             c10::toString(tensors.front().scalar_type()) + " and " + c10::toString(tensor.scalar_type()) +
             ", expected one type");
    }
    if (tensor.device() != tensors.front().device()) {
      refuse(std::string(operation) + " was given tensors on " + tensors.front().device().str() + " and " +
             tensor.device().str() + ", expected one device");
    }
  }
}

Tensors without_repetitions(const Tensors& tensors, const char* operation) {
  Tensors distinct;
  for (const at::Tensor& tensor : tensors) {
    const auto is_same = [&](const at::Tensor& other) {
      return other.data_ptr() == tensor.data_ptr() && other.sizes() == tensor.sizes() &&
             other.strides() == tensor.strides();
    };
    if (tensor.numel() > 0 && std::any_of(distinct.begin(), distinct.end(), is_same)) continue;
    const auto* const from = static_cast<const char*>(tensor.data_ptr());
    for (const at::Tensor& other : distinct) {
      const auto* const begin = static_cast<const char*>(other.data_ptr());
      const bool apart = from >= begin + other.nbytes() || begin >= from + tensor.nbytes();
      if (!apart && is_packed(tensor) && is_packed(other))
        refuse(std::string(operation) +
               " was given tensors that overlap in part, expected each to be apart from the others");
    }
    distinct.push_back(tensor);
  }
  return distinct;
}

const at::Tensor& only(const Tensors& tensors, const char* operation) {
  if (tensors.size() != 1) {
    refuse(std::string(operation) + " was given " + std::to_string(tensors.size()) +
           " tensors, expected one: a process is one rank");
  }
  check_tensor(tensors.front(), operation);
  return tensors.front();
}

bool is_packed(const at::Tensor& tensor) {
  return tensor.is_contiguous() && !tensor.is_conj() && !tensor.is_neg();
}

at::Tensor packed(const at::Tensor& tensor) {
  return is_packed(tensor) ? tensor : tensor.resolve_conj().resolve_neg().contiguous();
}

void copy_elements(const at::Tensor& to, const at::Tensor& from) {
  if (from.numel() == 0) return;
  if (to.device().is_cpu() && from.device().is_cpu()) {
    std::memcpy(to.data_ptr(), from.data_ptr(), from.nbytes());
  } else {
    to.view({-1}).copy_(from.view({-1}));
  }
}

int64_t elements(const Tensors& tensors) {
  int64_t sum = 0;
  for (const at::Tensor& tensor : tensors) sum += tensor.numel();
  return sum;
}

bool are_adjacent(const Tensors& tensors) {
  const char* next = nullptr;
  for (const at::Tensor& tensor : tensors) {
    if (!is_packed(tensor)) return false;
    if (tensor.numel() == 0) continue;
    if (next != nullptr && bytes_of(tensor) != next) return false;
    next = bytes_of(tensor) + tensor.nbytes();
  }
  return true;
}

at::Tensor joined(const Tensors& tensors) {
  const int64_t count = elements(tensors);
  if (count > 0 && are_adjacent(tensors)) {
    for (const at::Tensor& tensor : tensors) {  // adjacent tensors share one storage if it is large enough
      if (tensor.numel() == 0) continue;
      const int64_t capacity = static_cast<int64_t>(tensor.storage().nbytes() / tensor.itemsize());
      if (tensor.storage_offset() + count <= capacity) return tensor.as_strided({count}, {1});
      break;
    }
  }
  at::Tensor flat = at::empty({count}, tensors.front().options());
  int64_t at = 0;
  for (const at::Tensor& tensor : tensors) {
    copy_elements(flat.narrow(0, at, tensor.numel()), packed(tensor));
    at += tensor.numel();
  }
  return flat;
}

void deal_out(const at::Tensor& flat, const Tensors& tensors) {
  const char* from = bytes_of(flat);
  int64_t at = 0;
  for (const at::Tensor& tensor : tensors) {
    if (tensor.numel() == 0) continue;
    if (is_packed(tensor)) {
      if (bytes_of(tensor) != from) copy_elements(tensor, flat.narrow(0, at, tensor.numel()));
    } else {
      tensor.copy_(flat.narrow(0, at, tensor.numel()).view(tensor.sizes()));
    }
    from += tensor.nbytes();
    at += tensor.numel();
  }
}

Target::Target(const at::Tensor& tensor, bool keep) : tensor_(tensor) {
  if (is_packed(tensor)) {
    flat_ = tensor;
  } else if (keep) {
    flat_ = packed(tensor);
  } else {
    flat_ = at::empty(tensor.sizes(), tensor.options().memory_format(at::MemoryFormat::Contiguous));
  }
}

void Target::give_back() const {
  if (flat_.is_same(tensor_)) return;
  // Elements of an expanded tensor are one in memory, which PyTorch does not write several times.
  at::Tensor to = tensor_, from = flat_;
  for (int64_t dimension = 0; dimension < to.dim(); ++dimension) {
    if (to.stride(dimension) != 0 || to.size(dimension) < 2) continue;
    to = to.narrow(dimension, 0, 1);
    from = from.narrow(dimension, 0, 1);
  }
  to.copy_(from);
}

}  // namespace weir_torch
