// SPDX-License-Identifier: Apache-2.0

#include "transports/address.h"

#include <fmt/format.h>

namespace weir {
namespace {

constexpr uint32_t kMagic = 0x72646461;  // "addr"

}  // namespace

ByteWriter begin_address(std::string_view transport, uint32_t version, const AddressHead& head) {
  ByteWriter address;
  address.put(kMagic).put_string(transport).put(version).put(head.rank).put(head.host);
  return address;
}

Result<AddressHead> read_address(ByteReader& reader, std::string_view transport, uint32_t version) {
  if (reader.remaining() == 0) {
    return Status(Code::remote_error,
                  fmt::format("the peer has published no address of transport {}", transport));
  }
  const auto magic = reader.get<uint32_t>();
  const std::string name = magic == kMagic ? reader.get_string() : std::string();
  const auto found_version = reader.get<uint32_t>();
  AddressHead head;
  head.rank = reader.get<Rank>();
  head.host = reader.get<uint64_t>();
  if (!reader.ok() || name != transport) {
    return Status(Code::invalid_argument,
                  fmt::format("invalid transport address; expected an address of transport {}", transport));
  }
  if (found_version != version) {
    return Status(Code::remote_error, fmt::format("rank {} has an address of transport {} in format "
                                                  "{}; expected format {}; run the "
                                                  "same version of weir on all ranks",
                                                  head.rank, transport, found_version, version));
  }
  return head;
}

Status short_address(std::string_view transport, Rank rank) {
  return Status(Code::invalid_argument,
                fmt::format("the address of rank {} for transport {} is incomplete", rank, transport));
}

}  // namespace weir
