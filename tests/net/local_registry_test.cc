// SPDX-License-Identifier: Apache-2.0

#include "src/net/listener/local_registry.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>

namespace weir {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

bool is_registered(const SocketAddress& listener) {
  return std::ranges::any_of(read_local_registry(), [&](const RegisteredListener& entry) {
    return entry.pid == getpid() && entry.listener == listener;
  });
}

TEST(LocalRegistry, HasAnEntryAsLongAsItsSocketIsOpen) {
  for (const int family : {AF_INET, AF_INET6}) {
    const SocketAddress listener = SocketAddress::loopback(family, 4711);
    EXPECT_FALSE(is_registered(listener));
    {
      const auto entry = register_locally(listener);
      ASSERT_TRUE(entry.ok()) << entry.status().message();
      EXPECT_TRUE(is_registered(listener));
      EXPECT_FALSE(register_locally(listener).ok()) << "there is one already";
    }
    EXPECT_FALSE(is_registered(listener));
  }
}

TEST(LocalRegistry, OthersAreNotTakenForOne) {
  constexpr const char* kHead = "Num RefCount Protocol Flags Type St Inode Path\n";
  const std::string line = "0000000000000000: 00000002 00000000 00000000 0002 01 34567 ";
  EXPECT_THAT(read_local_registry(kHead + line + "@weir/listener/12/127.0.0.1:80\n"), SizeIs(1));
  for (const char* name : {"/run/weir/listener/12/127.0.0.1:80", "@weir/listener/x/127.0.0.1:80",
                           "@weir/listener/12/host.name:80", "@weir/listener/12/", "@weir/listener/12",
                           "@weir/listener/-3/127.0.0.1:80", "@weir/listener/12/127.0.0.1", "@"})
    EXPECT_THAT(read_local_registry(kHead + line + name + "\n"), IsEmpty()) << name;
  EXPECT_THAT(read_local_registry(""), IsEmpty());
}

}  // namespace
}  // namespace weir
