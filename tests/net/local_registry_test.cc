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
  const std::string line = "0000000000000000: 00000002 00000000 00010000 0001 01 34567 ";
  EXPECT_THAT(read_local_registry(kHead + line + "@weir/listener/12/127.0.0.1:80\n"), SizeIs(1));
  for (const char* name : {"/run/weir/listener/12/127.0.0.1:80", "@weir/listener/x/127.0.0.1:80",
                           "@weir/listener/12/host.name:80", "@weir/listener/12/", "@weir/listener/12",
                           "@weir/listener/-3/127.0.0.1:80", "@weir/listener/12/127.0.0.1", "@"})
    EXPECT_THAT(read_local_registry(kHead + line + name + "\n"), IsEmpty()) << name;
  EXPECT_THAT(read_local_registry(""), IsEmpty());
}

/// The connections of a registered socket have its name as well.
TEST(LocalRegistry, ConnectionsAreNoEntries) {
  const std::string listening = "0000000000000000: 00000002 00000000 00010000 0001 01 34567 ";
  const std::string connected = "0000000000000000: 00000003 00000000 00000000 0001 03 34568 ";
  const std::string name = "@weir/listener/12/127.0.0.1:80\n";
  EXPECT_THAT(read_local_registry(connected + name + listening + name + connected + name), SizeIs(1));
  EXPECT_THAT(read_local_registry(connected + name), IsEmpty());
}

TEST(LocalRegistry, LeadsToTheSocketOfAnEntry) {
  const RegisteredListener entry{static_cast<int32_t>(getpid()), SocketAddress::loopback(AF_INET, 4715)};
  EXPECT_EQ(connect_locally(entry).status().code(), Code::remote_error) << "there is no entry yet";
  const auto registered = register_locally(entry.listener);
  ASSERT_TRUE(registered.ok()) << registered.status().message();
  const auto connected = connect_locally(entry);
  ASSERT_TRUE(connected.ok()) << connected.status().message();
  EXPECT_TRUE(connected->has_value());
  const auto accepted = registered->accept();
  ASSERT_TRUE(accepted.ok() && accepted->has_value());
}

}  // namespace
}  // namespace weir
