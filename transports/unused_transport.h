// SPDX-License-Identifier: Apache-2.0
/// Stands in the list for a transport that the user's choice of a network (NCCL_NET) leaves out: it reaches
/// no peer, and its why_not gives the reason.
/// Tests: tests/transports/transports_list_test.cc
#pragma once

#include <memory>
#include <string>

#include "transports/transport.h"

namespace weir {

std::unique_ptr<Transport> make_unused_transport(std::string name, std::string why_not);

}  // namespace weir
