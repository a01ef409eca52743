// SPDX-License-Identifier: Apache-2.0
/// cma ("cross memory attach"): connects ranks of one host that cannot or must not share memory. The receiver
/// reads the sender's memory through the kernel.
///
/// A message costs at least one system call, and rings no doorbell. If the kernel forbids reading, reach()
/// reports which kernel rule forbids it and how to change that.
/// Tests: tests/transports/cma_test.cc
#pragma once

#include <memory>

#include "transports/memory/transport.h"

namespace weir {

std::unique_ptr<Transport> make_cma(const Identity& self);

}  // namespace weir
