// SPDX-License-Identifier: Apache-2.0
/// What the stand-in's libraries do behind several names: calls of a driver that queue work.
#pragma once

#include "stand_in/memory.h"
#include "stand_in/streams.h"

namespace fake {

/// cuInit, hipInit.
int start();
/// From memory that is not the driver's a copy is taken at once, to such memory it is waited for, as real
/// ones do.
int copy(void* to, const void* from, size_t bytes, const std::shared_ptr<Stream>& stream);
int fill(void* to, int value, size_t bytes, const std::shared_ptr<Stream>& stream);
/// The same for words of four bytes.
int fill_words(void* to, uint32_t value, size_t words, const std::shared_ptr<Stream>& stream);
int call_host(void (*function)(void*), void* argument, const std::shared_ptr<Stream>& stream);
int write_value(void* address, uint32_t value, const std::shared_ptr<Stream>& stream, bool captured = true);
/// `how`: CUDA's and HIP's number: 0 at least, 1 equal, 2 and, 3 nor.
int wait_value(void* address, uint32_t value, unsigned how, const std::shared_ptr<Stream>& stream,
               bool captured = true);
int enable_peer(int gpu, int other);
bool can_reach(int gpu, int other);

}  // namespace fake
