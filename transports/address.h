// SPDX-License-Identifier: Apache-2.0
/// The begin of every transport address: which transport wrote it, in which format, for which rank.
#pragma once

#include <string_view>

#include "src/base/bytes.h"
#include "src/base/types.h"
#include "weir/status.h"

namespace weir {

/// What all transport addresses say.
struct AddressHead {
  Rank rank = 0;
  uint64_t host = 0;  ///< identity of the host, as everybody on it computes it
};

/// Begins a transport address; the transport appends its own fields.
ByteWriter begin_address(std::string_view transport, uint32_t version, const AddressHead& head);

/// Reads the head and leaves `reader` at the transport's own fields. Refuses transport addresses of other
/// transports and versions.
Result<AddressHead> read_address(ByteReader& reader, std::string_view transport, uint32_t version);

/// The refusal of a transport address that ends too early.
Status short_address(std::string_view transport, Rank rank);

}  // namespace weir
