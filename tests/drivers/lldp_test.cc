// SPDX-License-Identifier: Apache-2.0

#include "src/drivers/lldp.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <string>

namespace weir::drivers {
namespace {

using ::testing::HasSubstr;

/// A daemon that listens like lldpd but never answers.
class Mute {
 public:
  Mute() : path_("/tmp/weir_mute_" + std::to_string(getpid())), socket_(socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path_.c_str(), sizeof(address.sun_path) - 1);
    EXPECT_EQ(bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(listen(socket_, 1), 0);
  }
  ~Mute() {
    close(socket_);
    unlink(path_.c_str());
  }
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
  const int socket_;
};

/// Tests only that the call returns: a test that waits forever would be killed.
TEST(Lldp, ADaemonThatWasStoppedIsGivenUp) {
  const Mute daemon;
  const auto neighbors = lldp_neighbors(daemon.path());
  ASSERT_FALSE(neighbors.ok());
  EXPECT_EQ(neighbors.status().code(), Code::system_error);
}

TEST(Lldp, NoDaemonIsSaid) {
  const auto neighbors = lldp_neighbors("/tmp/weir/nobody/listens/here");
  ASSERT_FALSE(neighbors.ok());
  EXPECT_THAT(neighbors.status().message(), HasSubstr("lldp"));
}

}  // namespace
}  // namespace weir::drivers
