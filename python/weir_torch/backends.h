// SPDX-License-Identifier: Apache-2.0
/// All back ends of the process, so that they can be closed before the interpreter ends. Thread-safe.
#pragma once

#include "python/weir_torch/backend.h"

namespace weir_torch {

c10::intrusive_ptr<Backend> create_backend(BackendFacts facts);
/// Calls close() of all that exist.
void close_backends();

}  // namespace weir_torch
