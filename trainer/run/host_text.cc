// SPDX-License-Identifier: Apache-2.0

#include "trainer/run/host_text.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "trainer/checkpoint/agree.h"
#include "trainer/checkpoint/checksum.h"
#include "trainer/data/token_shard.h"
#include "trainer/shard/calls.h"
#include "trainer/shard/groups.h"

namespace weir::trainer {
namespace {

/// The anonymous file of one rank, as the others of its host find it.
struct Offer {
  int64_t process = 0;
  int64_t file = -1;  ///< descriptor in that process; -1: there is none
  uint64_t bytes = 0;
  uint64_t checksum = 0;

  std::string path() const { return fmt::format("/proc/{}/fd/{}", process, file); }
};

/// An open file; closed at the end.
class Descriptor {
 public:
  explicit Descriptor(int file) : file_(file) {}
  Descriptor(Descriptor&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (file_ >= 0) close(file_);
  }
  int get() const { return file_; }

 private:
  int file_;
};

bool write_all(int file, std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return true;
}

/// Where the system has no such files, or no memory for one, none is offered.
Descriptor put(std::span<const uint8_t> bytes) {
  Descriptor file(memfd_create("weir-train tokens", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  constexpr int kSeals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  if (file.get() < 0 || !write_all(file.get(), bytes) || fcntl(file.get(), F_ADD_SEALS, kSeals) != 0)
    return Descriptor(-1);
  return file;
}

/// Nothing if the file is not that of the offer.
std::optional<TokenShard> map(const Offer& offer) {
  if (offer.file < 0) return std::nullopt;
  auto shard = open_raw_shard(offer.path(), sizeof(Token));
  if (!shard.ok() || shard->bytes.size() != offer.bytes ||
      checkpoint::checksum(shard->bytes.data(), shard->bytes.size()) != offer.checksum)
    return std::nullopt;
  return std::move(*shard);
}

/// Without a prefix where there is one rank.
Status agree_if_several(ncclComm_t world, int ranks, const Status& own) {
  return ranks == 1 ? own : checkpoint::agree(world, own);
}

Text text_of(const TextSource& source, TokenShard shard) {
  shard.separator = source.separator;
  return Text(source.name, {std::move(shard)});
}

/// Whether all ranks have a text to encode. Collective.
Result<bool> all_encode(ncclComm_t world, bool own) {
  int32_t all = own ? 1 : 0;
  WEIR_TRY(
      shard::checked(ncclAllReduce(&all, &all, 1, ncclInt32, ncclMin, world, nullptr), "sharing the text"));
  return all != 0;
}

/// The tokens in an anonymous file, and the offers of all ranks. Collective.
Result<std::vector<Offer>> exchange(ncclComm_t world, int rank, int ranks, const Descriptor& file,
                                    std::span<const uint8_t> bytes) {
  std::vector<Offer> offers(static_cast<size_t>(ranks));
  Offer& own = offers[static_cast<size_t>(rank)];
  own = {getpid(), file.get(), bytes.size(), checkpoint::checksum(bytes.data(), bytes.size())};
  WEIR_TRY(shard::checked(ncclAllGather(&own, offers.data(), sizeof(Offer), ncclChar, world, nullptr),
                          "sharing the text"));
  return offers;
}

}  // namespace

Result<std::optional<Text>> text_of_host(ncclComm_t world, const std::optional<TextSource>& to_encode) {
  int rank = 0, ranks = 1;
  WEIR_TRY(shard::checked(ncclCommUserRank(world, &rank), "sharing the text"));
  WEIR_TRY(shard::checked(ncclCommCount(world, &ranks), "sharing the text"));
  const auto shared = all_encode(world, to_encode.has_value());
  WEIR_TRY(shared.status());
  const auto places = shard::places_of_ranks(world);
  WEIR_TRY(places.status());
  int first = 0;  // rank of this host
  while ((*places)[static_cast<size_t>(first)].host != (*places)[static_cast<size_t>(rank)].host) ++first;

  std::optional<Text> text;
  const auto encode = [&] {
    auto tokens = to_encode->encode();
    if (tokens.ok()) text.emplace(to_encode->name, std::move(*tokens), to_encode->separator);
    return tokens.status();
  };
  const bool encodes = *shared ? rank == first : to_encode.has_value();
  WEIR_TRY(agree_if_several(world, ranks, encodes ? encode() : Status()));
  if (!*shared || ranks == 1) return text;

  const std::span<const uint8_t> bytes = text ? text->stored().front() : std::span<const uint8_t>();
  const Descriptor file = text ? put(bytes) : Descriptor(-1);
  const auto offers = exchange(world, rank, ranks, file, bytes);
  WEIR_TRY(offers.status());
  auto mapped = map((*offers)[static_cast<size_t>(first)]);
  if (mapped) text.emplace(text_of(*to_encode, std::move(*mapped)));
  const Status status = text ? Status() : encode();
  WEIR_TRY(checkpoint::agree(world, status));  // the file is open until all have mapped it
  return text;
}

}  // namespace weir::trainer
