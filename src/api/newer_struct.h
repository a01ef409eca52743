// SPDX-License-Identifier: Apache-2.0
/// What a caller's struct has that this library does not know, because the caller's header is newer.
///
/// Pure.
/// Tests: tests/api/config_test.cc
#pragma once

#include <cstddef>
#include <string>

namespace weir::api {

/// A sentence about the bytes of a struct from `known` to `size`, and which of its fields are set there, by
/// their places: unset fields are INT_MIN, NULL or 0. Empty if `version` is not newer than this library, or
/// if there are no such bytes. `type`: the name of the struct.
std::string unknown_fields(const char* type, const void* config, size_t size, size_t known, unsigned version);

}  // namespace weir::api
