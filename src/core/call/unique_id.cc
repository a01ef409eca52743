// SPDX-License-Identifier: Apache-2.0

#include "src/core/call/unique_id.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "src/base/host.h"

namespace weir::core {
namespace {

constexpr uint64_t kMagic = 0x6469'7269'6577'0a89;
constexpr uint32_t kIdFormat = 3;
constexpr size_t kChecked = UniqueId::kBytes - sizeof(uint64_t);

uint64_t checksum(BytesView bytes) {
  return hash_text({reinterpret_cast<const char*>(bytes.data()), kChecked});
}

}  // namespace

std::array<std::byte, UniqueId::kBytes> UniqueId::encode() const {
  Bytes body = ByteWriter()
                   .put(kMagic)
                   .put(kIdFormat)
                   .put(uint32_t{fixed})
                   .put(nonce)
                   .put(root)
                   .put(secret.bytes())
                   .put(own)
                   .put(network)
                   .take();
  body.resize(kChecked);
  const uint64_t sum = checksum(body);
  std::array<std::byte, kBytes> out;
  std::ranges::copy(body, out.begin());
  std::memcpy(out.data() + kChecked, &sum, sizeof sum);
  return out;
}

Result<UniqueId> UniqueId::decode(BytesView bytes) {
  const auto refuse = [](std::string why) { return Status(Code::invalid_argument, std::move(why)); };
  if (bytes.size() != kBytes)
    return refuse(fmt::format("a unique id has {} bytes, not {}", kBytes, bytes.size()));
  ByteReader in(bytes);
  if (in.get<uint64_t>() != kMagic) {
    return refuse(
        "this unique id was not made by weir (ncclGetUniqueId of another library made it, or the bytes are "
        "damaged); all ranks must load the same libnccl");
  }
  if (const auto format = in.get<uint32_t>(); format != kIdFormat) {
    return refuse(
        fmt::format("this unique id has format {} of another version of weir; this one reads format {}",
                    format, kIdFormat));
  }
  UniqueId id;
  id.fixed = in.get<uint32_t>() != 0;
  id.nonce = in.get<uint64_t>();
  id.root = in.get<SocketAddress>();
  id.secret = Secret(in.get<std::array<std::byte, Secret::kBytes>>());
  id.own = in.get<SocketAddress>();
  id.network = in.get<uint64_t>();
  uint64_t sum = 0;
  std::memcpy(&sum, bytes.data() + kChecked, sizeof sum);
  if (sum != checksum(bytes) || !id.root.valid()) {
    return refuse(
        "this unique id was made by weir but damaged on its way (its checksum is wrong); all 128 bytes must "
        "be passed on unchanged");
  }
  return id;
}

uint32_t job_key_of(const UniqueId& id) {
  const Proof hash = id.secret.prove(ByteWriter().put_string("weir: job key").put(id.nonce).take());
  uint32_t key = 0;
  std::memcpy(&key, hash.data(), sizeof key);
  return key;
}

uint64_t uid_in_job(uint32_t job_key, uint64_t number) {
  return uint64_t{job_key} << 32 | std::max<uint64_t>(1, number & UINT32_MAX);
}

}  // namespace weir::core
