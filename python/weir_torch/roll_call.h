// SPDX-License-Identifier: Apache-2.0
/// Who has come: each rank leaves a mark in PyTorch's store and looks for those of the others. Needs no
/// communicator.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "python/weir_torch/base.h"

namespace weir_torch {

/// Waits until the store has the key. False: `timeout` has passed, or `given_up` said so. Looks every few
/// milliseconds and never blocks inside the store, whose other users would have to wait.
bool await_key(
    c10d::Store& store, const std::string& key, Milliseconds timeout,
    const std::function<bool()>& given_up = [] { return false; });

/// Says that `rank` is here and waits for the `size` ranks. Those that have not come within `timeout`, in
/// order.
std::vector<int> roll_call(c10d::Store& store, const std::string& name, int rank, int size,
                           Milliseconds timeout);

/// A barrier whose error names every missing rank on every rank that came. Rank 0 decides who is missing;
/// where it does not come itself, each rank says so. `name` is of this barrier alone. Throws.
void monitored_barrier(c10d::Store& store, const std::string& name, int rank, int size, Milliseconds timeout);

}  // namespace weir_torch
