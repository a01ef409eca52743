// SPDX-License-Identifier: Apache-2.0
/// The PyTorch class from which a back end derives: ProcessGroup before PyTorch 2, Backend since then. No
/// other file depends on the version of that class.
#pragma once

#include <ATen/ATen.h>
#include <torch/version.h>

#include <chrono>

#include <torch/csrc/distributed/c10d/Store.hpp>
#include <torch/csrc/distributed/c10d/Types.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>
#if TORCH_VERSION_MAJOR >= 2
#include <torch/csrc/distributed/c10d/Backend.hpp>
#else
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#endif

// What PyTorch has since 2.1 and 2.3: types of elements, and several operations as one Work.
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 1)
#define WEIR_TORCH_HAS_FLOAT8
#define WEIR_TORCH_HAS_COALESCING
#endif
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 3)
#define WEIR_TORCH_HAS_UNSIGNED
#endif

namespace weir_torch {

#if TORCH_VERSION_MAJOR >= 2
using Base = c10d::Backend;
#else
using Base = c10d::ProcessGroup;
#endif

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;
using WorkPtr = c10::intrusive_ptr<c10d::Work>;
using StorePtr = c10::intrusive_ptr<c10d::Store>;
using Tensors = std::vector<at::Tensor>;

}  // namespace weir_torch
