// SPDX-License-Identifier: Apache-2.0
/// Checks which ranks have joined: each rank sets a key in PyTorch's store and waits for the keys of the
/// others. Needs no communicator.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "python/weir_torch/base.h"

namespace weir_torch {

/// Waits until the store has the key. Returns false after `timeout`, or when `given_up` returns true. Polls
/// every few milliseconds and never blocks inside the store, since that would block its other users.
bool await_key(
    c10d::Store& store, const std::string& key, Milliseconds timeout,
    const std::function<bool()>& given_up = [] { return false; });

/// Announces `rank` and waits for all `size` ranks. Returns the ranks that have not joined within `timeout`,
/// or until `given_up` returned true, in ascending order.
std::vector<int> roll_call(
    c10d::Store& store, const std::string& name, int rank, int size, Milliseconds timeout,
    const std::function<bool()>& given_up = [] { return false; });

/// A barrier whose error names every missing rank on every rank that joined. Rank 0 determines the missing
/// ranks; if rank 0 itself is missing, each rank reports that. `name` must be unique to this barrier. Throws.
void monitored_barrier(c10d::Store& store, const std::string& name, int rank, int size, Milliseconds timeout);

}  // namespace weir_torch
