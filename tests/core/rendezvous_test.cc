// SPDX-License-Identifier: Apache-2.0

#include "src/core/channels/rendezvous.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <new>
#include <vector>

namespace weir::core {
namespace {

constexpr size_t kBytes = 10'000;

std::vector<std::byte> pattern() {
  std::vector<std::byte> data(kBytes);
  for (size_t i = 0; i < kBytes; ++i) data[i] = static_cast<std::byte>(i * 7 + i / 256);
  return data;
}

/// What a child process offers: its data, or `address`. The child lives until the object ends.
class Offering {
 public:
  explicit Offering(const void* address = nullptr) {
    auto* shared = static_cast<Offer*>(
        mmap(nullptr, sizeof(Offer), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    int ready[2];
    if (shared == MAP_FAILED || pipe(ready) != 0) throw std::bad_alloc();
    child_ = fork();
    if (child_ == 0) {
      const std::vector<std::byte> data = pattern();
      const Rendezvous own;
      *shared = own.offer(address == nullptr ? data.data() : address, kBytes);
      close(ready[1]);
      for (;;) pause();
    }
    close(ready[1]);
    char none = 0;
    while (read(ready[0], &none, 1) > 0) continue;  // ends when the child closes its end
    close(ready[0]);
    offer = *shared;
    munmap(shared, sizeof(Offer));
  }
  ~Offering() { end(); }
  Offering(const Offering&) = delete;
  Offering& operator=(const Offering&) = delete;
  void end() {
    if (child_ <= 0) return;
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    child_ = 0;
  }

  Offer offer;

 private:
  pid_t child_ = 0;
};

TEST(Rendezvous, ReadsInTheSameProcess) {
  const Rendezvous one, other;
  const std::vector<std::byte> data = pattern();
  std::vector<std::byte> got(kBytes);
  EXPECT_EQ(other.fetch(one.offer(data.data(), kBytes), 0, got.data(), kBytes), FetchResult::taken);
  EXPECT_EQ(got, data);
}

TEST(Rendezvous, ReadsAnotherProcessInParts) {
  const Offering peer;
  const Rendezvous own;
  std::vector<std::byte> got(kBytes);
  for (size_t at = 0; at < kBytes; at += 2'500)
    ASSERT_EQ(own.fetch(peer.offer, at, got.data() + at, 2'500), FetchResult::taken);
  EXPECT_EQ(got, pattern());
}

TEST(Rendezvous, SaysThatAnAddressIsNotThere) {
  const Offering peer(reinterpret_cast<const void*>(64));
  std::vector<std::byte> got(kBytes);
  EXPECT_EQ(Rendezvous().fetch(peer.offer, 0, got.data(), kBytes), FetchResult::unreadable);
}

TEST(Rendezvous, TakesNothingFromAProcessThatIsNotTheSender) {
  const Offering peer;
  std::vector<std::byte> got(kBytes);
  Offer offer = peer.offer;
  offer.token ^= 1;
  EXPECT_EQ(Rendezvous().fetch(offer, 0, got.data(), kBytes), FetchResult::never);
  offer = peer.offer;
  offer.pid_namespace ^= 1;
  EXPECT_EQ(Rendezvous().fetch(offer, 0, got.data(), kBytes), FetchResult::never);
}

TEST(Rendezvous, TakesNothingFromADeadProcess) {
  Offering peer;
  peer.end();
  std::vector<std::byte> got(kBytes);
  EXPECT_EQ(Rendezvous().fetch(peer.offer, 0, got.data(), kBytes), FetchResult::never);
}

}  // namespace
}  // namespace weir::core
