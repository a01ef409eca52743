// SPDX-License-Identifier: Apache-2.0
/// The header of every transport address: its transport, format version and rank.
/// Tests: tests/transports/ucx_test.cc, tests/transports/verbs_test.cc
#pragma once

#include <string_view>

#include "src/base/bytes.h"
#include "src/base/status.h"
#include "src/base/types.h"

namespace weir {

/// Header fields of a transport address.
struct AddressHead {
  Rank rank = 0;
  uint64_t host = 0;  ///< identity of the host; equal for all processes of the host
};

/// Writes the header of a transport address; the transport appends its own fields.
ByteWriter begin_address(std::string_view transport, uint32_t version, const AddressHead& head);

/// Reads the header and leaves `reader` at the transport's own fields. Fails for addresses of other
/// transports and versions.
Result<AddressHead> read_address(ByteReader& reader, std::string_view transport, uint32_t version);

/// The error for a transport address that is too short.
Status short_address(std::string_view transport, Rank rank);

}  // namespace weir
