#include "src/base/door_sign.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>

namespace weir {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

bool hangs(const SocketAddress& door) {
  return std::ranges::any_of(read_signs(),
                             [&](const DoorSign& sign) { return sign.pid == getpid() && sign.door == door; });
}

TEST(DoorSign, HangsAsLongAsItsSocketIsOpen) {
  for (const int family : {AF_INET, AF_INET6}) {
    const SocketAddress door = SocketAddress::loopback(family, 4711);
    EXPECT_FALSE(hangs(door));
    {
      const auto sign = hang_sign(door);
      ASSERT_TRUE(sign.ok()) << sign.status().message();
      EXPECT_TRUE(hangs(door));
      EXPECT_FALSE(hang_sign(door).ok()) << "there is one already";
    }
    EXPECT_FALSE(hangs(door));
  }
}

TEST(DoorSign, OthersAreNotTakenForOne) {
  constexpr const char* kHead = "Num RefCount Protocol Flags Type St Inode Path\n";
  const std::string line = "0000000000000000: 00000002 00000000 00000000 0002 01 34567 ";
  EXPECT_THAT(read_signs(kHead + line + "@weir/door/12/127.0.0.1:80\n"), SizeIs(1));
  for (const char* name :
       {"/run/weir/door/12/127.0.0.1:80", "@weir/door/x/127.0.0.1:80", "@weir/door/12/host.name:80",
        "@weir/door/12/", "@weir/door/12", "@weir/door/-3/127.0.0.1:80", "@weir/door/12/127.0.0.1", "@"})
    EXPECT_THAT(read_signs(kHead + line + name + "\n"), IsEmpty()) << name;
  EXPECT_THAT(read_signs(""), IsEmpty());
}

}  // namespace
}  // namespace weir
