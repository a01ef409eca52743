// SPDX-License-Identifier: Apache-2.0
// Open file descriptors that ranks send to each other.
#include "src/net/file_post.h"

#include <gmock/gmock.h>
#include <sys/mman.h>
#include <unistd.h>

#include <thread>

#include "tests/base/limited_child.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kUid = 77;
constexpr int64_t kTimeoutNs = 20'000'000'000;

/// A file that contains `number`.
Socket file_with(int number) {
  Socket file(memfd_create("file-post-test", MFD_CLOEXEC));
  EXPECT_EQ(pwrite(file.fd(), &number, sizeof(number), 0), static_cast<ssize_t>(sizeof(number)));
  return file;
}
int number_in(const Socket& file) {
  int number = -1;
  EXPECT_EQ(pread(file.fd(), &number, sizeof(number), 0), static_cast<ssize_t>(sizeof(number)));
  return number;
}

struct Office {
  explicit Office(int ranks) {
    for (Rank rank = 0; rank < ranks; ++rank) {
      auto post = FilePost::open(kUid, rank);
      EXPECT_TRUE(post.ok()) << post.status().message();
      addresses.push_back(post->address());
      posts.push_back(std::move(*post));
    }
  }
  std::vector<FilePost> posts;
  std::vector<std::string> addresses;
};

/// More ranks than a socket's queue can hold messages.
TEST(FilePost, AllGetTheFilesOfAll) {
  constexpr int kRanks = 24;
  Office office(kRanks);
  std::vector<std::thread> threads;
  for (Rank rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back([&office, rank] {
      const auto files =
          office.posts[static_cast<size_t>(rank)].exchange(office.addresses, file_with(rank), kTimeoutNs);
      ASSERT_TRUE(files.ok()) << files.status().message();
      for (Rank other = 0; other < kRanks; ++other) {
        const Socket& file = (*files)[static_cast<size_t>(other)];
        ASSERT_EQ(file.valid(), other != rank);
        if (file.valid()) {
          EXPECT_EQ(number_in(file), other);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

/// Not that the other rank has sent nothing.
TEST(FilePost, WhoHasNoDescriptorLeftSaysSo) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the sanitizer of undefined behaviour needs descriptors to look at objects";
#endif
  const std::string said = testing::in_child([] {
    Office office(2);
    const Socket own = file_with(0), other = file_with(1);
    constexpr int64_t kSoonNs = 1'000'000;  // it sends, and hears nothing
    (void)office.posts[1].exchange(office.addresses, other, kSoonNs);
    testing::allow_no_descriptors();
    const Status status = office.posts[0].exchange(office.addresses, own, kTimeoutNs).status();
    return (status.is_shortage() ? "short: " : "") + status.message();
  });
  EXPECT_THAT(said,
              ::testing::AllOf(::testing::StartsWith("short: "), HasSubstr("no file descriptors left")));
}

TEST(FilePost, StrangersAreNotHeard) {
  Office office(2);
  auto stranger = FilePost::open(kUid + 1, 1);
  ASSERT_TRUE(stranger.ok());
  const std::vector<std::string> to_first{office.addresses[0], ""};
  EXPECT_FALSE(stranger->exchange(to_first, file_with(66), 0).ok()) << "nobody answers";
  std::thread other(
      [&] { EXPECT_TRUE(office.posts[1].exchange(office.addresses, file_with(1), kTimeoutNs).ok()); });
  const auto files = office.posts[0].exchange(office.addresses, file_with(0), kTimeoutNs);
  other.join();
  ASSERT_TRUE(files.ok()) << files.status().message();
  EXPECT_EQ(number_in((*files)[1]), 1);
}

TEST(FilePost, SaysWhoDoesNotAnswer) {
  Office office(3);
  EXPECT_THAT(office.posts[0].exchange(office.addresses, file_with(0), 0).status().message(),
              HasSubstr("sent no file descriptor in time"));
  office.posts.pop_back();
  EXPECT_THAT(office.posts[0].exchange(office.addresses, file_with(0), kTimeoutNs).status().message(),
              HasSubstr("cannot send a file descriptor to rank 2: Connection refused"));
}

}  // namespace
}  // namespace weir
