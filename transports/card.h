/// The begin of every card: which transport wrote it, in which format, for which rank.
#pragma once

#include <string_view>

#include "src/base/bytes.h"
#include "src/base/types.h"
#include "weir/status.h"

namespace weir {

/// What all cards say.
struct CardHead {
  Rank rank = 0;
  uint64_t host = 0;  ///< identity of the host, as everybody on it computes it
};

/// Begins a card; the transport appends its own fields.
ByteWriter begin_card(std::string_view transport, uint32_t version, const CardHead& head);

/// Reads the head and leaves `reader` at the transport's own fields. Refuses cards of other transports and
/// versions.
Result<CardHead> read_card(ByteReader& reader, std::string_view transport, uint32_t version);

/// The refusal of a card that ends too early.
Status short_card(std::string_view transport, Rank rank);

}  // namespace weir
