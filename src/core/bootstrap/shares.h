// SPDX-License-Identifier: Apache-2.0
/// How the ranks of a communicator are spread over its roots, if it has several (ncclCommInitRankScalable).
///
/// Each root serves a share: consecutive ranks, as many as any other root's or one more; the larger shares
/// come first, as in NCCL. The root of the first id is the first root: it learns of all ranks, chooses the
/// number of the communicator and decides on failures. The other roots know neither its address nor its
/// secret. Therefore one rank of each other share relays: it stays connected to its own root and to the
/// first one, and passes on what they say (root_wire.h).
/// Tests: tests/core/bootstrap_roots_test.cc
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "src/base/bytes.h"
#include "src/base/host.h"
#include "src/base/types.h"
#include "src/core/call/unique_id.h"
#include "src/net/tls/tls_context.h"

namespace weir::core {

/// Consecutive ranks.
struct Share {
  Rank first = 0;
  Rank end = 0;

  size_t size() const { return static_cast<size_t>(end - first); }
  bool contains(Rank rank) const { return first <= rank && rank < end; }
};

/// The ranks of root `root` of `roots`. REQUIRES: 0 <= root < roots <= ranks.
inline Share share_of(int root, int roots, int ranks) {
  const int least = ranks / roots;
  const int larger = ranks % roots;
  const Rank first = root * least + std::min(root, larger);
  return {first, first + least + (root < larger ? 1 : 0)};
}

/// The root of a rank. REQUIRES: 0 <= rank < ranks, 0 < roots <= ranks.
inline int root_of(Rank rank, int roots, int ranks) {
  const int least = ranks / roots;
  const int larger = ranks % roots;
  const Rank in_larger = larger * (least + 1);
  return rank < in_larger ? rank / (least + 1) : larger + (rank - in_larger) / least;
}

/// Equal for equal lists of ids. Says nothing of their secrets.
inline uint64_t digest_of(const std::vector<UniqueId>& ids) {
  ByteWriter list;
  for (const UniqueId& id : ids) list.put(id.nonce).put(id.root);
  const Bytes bytes = list.take();
  return hash_text({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

/// The root of a rank's share, where there are several.
struct OwnRoot {
  UniqueId id;
  std::shared_ptr<const TlsContext> tls;  ///< for its sockets; null: not encrypted
  int place = 0;                          ///< in the list of ids
  int roots = 1;                          ///< ids in the list
  uint64_t list = 0;                      ///< digest_of() the list
};

}  // namespace weir::core
