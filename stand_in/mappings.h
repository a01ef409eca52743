// SPDX-License-Identifier: Apache-2.0
/// Virtual memory management of the stand-in: memory without addresses, addresses without memory, and files
/// that stand for memory in other processes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/drivers/mapping_table.h"

namespace fake {

int mapping_unit(size_t* bytes, const weir::drivers::MappingProperties* properties);
int make_memory(uint64_t* handle, size_t bytes, const weir::drivers::MappingProperties* properties);
/// What is mapped stays.
int drop_memory(uint64_t handle);
int memory_to_file(void* file, uint64_t handle, int kind);
/// An instance of MIG takes no file of another one.
int memory_from_file(uint64_t* handle, void* file, int kind);
int reserve_addresses(void** at, size_t bytes);
int free_addresses(void* at, size_t bytes);
/// Nobody may use it before allow_access().
int map_memory(void* at, size_t bytes, size_t offset, uint64_t handle);
int unmap_memory(void* at, size_t bytes);
int allow_access(void* at, size_t bytes, const weir::drivers::MappingAccess* access, size_t count);

}  // namespace fake
