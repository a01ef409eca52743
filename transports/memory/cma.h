// SPDX-License-Identifier: Apache-2.0
/// cma ("cross memory attach"): ranks of one host that cannot or must not share memory. The receiver reads
/// the sender's memory through the kernel.
///
/// A message costs at least one system call, and nobody is woken by it. Where the kernel forbids it, reach()
/// says which of its rules does and what would help.
#pragma once

#include <memory>

#include "transports/memory/transport.h"

namespace weir {

std::unique_ptr<Transport> make_cma(const Identity& self);

}  // namespace weir
