// SPDX-License-Identifier: Apache-2.0
// The addresses that ranks publish for each transport, and the paths that are chosen between them.
#include "tests/fuzz/fuzz.h"
#include "transports/address.h"
#include "transports/peer_listener.h"
#include "transports/tcp/rails.h"
#include "transports/verbs/ports.h"

namespace {

void read_rails(weir::ByteReader reader) {
  using namespace weir;
  const size_t count = reader.count(sizeof(SocketAddress));
  std::vector<tcp::Rail> theirs;
  for (size_t i = 0; i < count && reader.ok() && i < tcp::Rail::kMost; ++i)
    theirs.push_back(tcp::Rail::get(reader));
  const std::vector<tcp::Rail> ours = {{.name = "eth0", .listener = SocketAddress::loopback(AF_INET, 80)}};
  if (reader.ok() && !theirs.empty()) (void)tcp::paths_between(ours, theirs, true);
  for (const tcp::Rail& rail : theirs) (void)rail.text();
}

void read_ports(weir::ByteReader reader) {
  using namespace weir::verbs;
  const size_t count = reader.count(sizeof(PortAddress::gid));
  std::vector<PortAddress> theirs;
  for (size_t i = 0; i < count && reader.ok() && i < 16; ++i) theirs.push_back(PortAddress::get(reader));
  const std::vector<PortAddress> ours(2);
  if (reader.ok()) (void)port_pairs(ours, theirs);
  for (const PortAddress& port : theirs) (void)port.text();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace weir;
  for (const char* transport : {"tcp", "verbs", "net_plugin", "ucx", "shm", "cma"}) {
    for (uint32_t version = 0; version < 8; ++version) {
      ByteReader reader(bytes_of(data, size));
      if (!read_address(reader, transport, version).ok()) continue;
      const auto listener = reader.get<SocketAddress>();
      (void)listener.text();
      (void)listener.is_loopback();
      read_ports(reader);
      (void)reader.get<uint32_t>();  // whose bytes in flight a receiver of tcp limits
      read_rails(reader);
    }
  }
  return 0;
}
