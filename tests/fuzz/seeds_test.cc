// SPDX-License-Identifier: Apache-2.0
// Seeds of frames are those that this version of the library sends: a mutation of a frame of an older one
// ends at its version. WEIR_WRITE_SEEDS=1 writes them again after a change of the protocol.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "src/core/bootstrap/root_wire.h"
#include "src/core/planning/peer_info.h"

namespace weir::core {
namespace {

void expect_seed(const std::string& name, const Bytes& frame) {
  const std::string path = std::string(WEIR_SEEDS) + "/" + name;
  const std::string wanted(reinterpret_cast<const char*>(frame.data()), frame.size());
  if (std::getenv("WEIR_WRITE_SEEDS") != nullptr) std::ofstream(path, std::ios::binary) << wanted;
  std::ifstream file(path, std::ios::binary);
  const std::string found(std::istreambuf_iterator<char>(file), {});
  EXPECT_TRUE(found == wanted) << name
                               << " is not what this version sends; WEIR_WRITE_SEEDS=1 writes it again";
}

root_wire::Hello hello_of(Rank rank) {
  root_wire::Hello hello;
  hello.nonce = 99;
  hello.rank = rank;
  hello.ranks = 2;
  hello.peer.listener = SocketAddress::loopback(AF_INET, 40'000);
  hello.peer.own_listener = SocketAddress::loopback(AF_INET, 40'001);
  hello.peer.host = 18;
  hello.peer.pid = 4711;
  hello.peer.hostname = "host";
  hello.peer.process = {.kernel = 1, .pid_space = 2, .net_space = 3, .start = 4, .pid = 4711, .announced = 1};
  hello.peer.network = 5;
  hello.roots = 2;
  hello.root = rank;
  hello.list = 7;
  return hello;
}

TEST(Seeds, OfRootsAreCurrent) {
  using namespace root_wire;
  expect_seed("root/hello", hello_of(1).encode());
  expect_seed("root/hellos", Hellos{{hello_of(0), hello_of(1)}}.encode());
  const Listeners::Entry entry{SocketAddress::loopback(AF_INET, 40'000),
                               SocketAddress::loopback(AF_INET, 40'001), 5};
  expect_seed("root/listeners", Listeners{9, {entry, entry}}.encode());
  expect_seed("root/all_listeners", AllListeners{9, {entry, entry}}.encode());
  expect_seed("root/failed", encode_failed(Status(Code::remote_error, "wrong")));
}

TEST(Seeds, OfRanksAreCurrent) {
  PeerInfo info;
  info.machine = 99;
  info.quota = 2;
  info.order = "run";
  info.gpu = "0000:01:00.0";
  info.settings.changed["WEIR_SLOTS"] = "8";
  ByteWriter writer;
  info.put(writer);
  expect_seed("rank/peer_info", writer.take());
  SharedSettings settings;
  settings.algorithm = "ring";
  settings.nccl_algorithms = "Tree";
  settings.nccl_protocols = "^LL";
  settings.put(writer);
  expect_seed("rank/settings", writer.take());
}

}  // namespace
}  // namespace weir::core
