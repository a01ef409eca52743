// SPDX-License-Identifier: Apache-2.0
/// What the files of the stand-in's libcudart share: the thread's GPU and its last error.
#pragma once

#include "stand_in/cuda_calls.h"

namespace fake {

/// Returns the code; one that is not success becomes the thread's last error.
int keep(int code);
/// The driver started and the thread's GPU current; else the error, which is kept.
int ready();

inline Address address_of(const void* pointer) { return reinterpret_cast<Address>(pointer); }

}  // namespace fake
