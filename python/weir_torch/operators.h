// SPDX-License-Identifier: Apache-2.0
/// Collectives of weir as operators of PyTorch, torch.ops.weir, for programs that compile models:
/// torch.compile takes an operator as it is, and no Python is between it and the group.
///
/// A group is a number, because operators have no arguments that are process groups. They return when the
/// operation is done, and are called as a back end's functions are: one thread at a time issues operations.
#pragma once

#include <cstdint>

#include "python/weir_torch/backend.h"

namespace weir_torch {

/// The number of a group, by which operators call it; the same for each call. Thread-safe.
int64_t operator_group(const c10::intrusive_ptr<Backend>& backend);

}  // namespace weir_torch
