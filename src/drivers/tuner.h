// SPDX-License-Identifier: Apache-2.0
/// Tuner plugins of NCCL: shared objects that have a say in which algorithm a collective takes.
///
/// One object per communicator: made with it, asked about it, ended with it. Errors carry the code that the
/// plugin gave, and a sentence that names plugin and call.
///
/// Thread safety: different objects may be used by several threads at once, one by one thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "src/drivers/library.h"
#include "src/drivers/tuner_abi.h"
#include "weir/status.h"

namespace weir::drivers {

/// By NCCL's numbers of algorithms and protocols.
enum class TunedAlgorithm : uint8_t { tree, ring, collnet_direct, collnet_chain, nvls, nvls_tree, pat };
enum class TunedProtocol : uint8_t { ll, ll128, simple };
/// And of collectives.
enum class TunedFunction : uint8_t { broadcast, reduce, all_gather, reduce_scatter, all_reduce };

/// "Tree", "Simple".
std::string_view name(TunedAlgorithm algorithm);
std::string_view name(TunedProtocol protocol);

/// What each algorithm is predicted to take with each protocol.
struct TunedCosts {
  static constexpr float kNone = -1;  ///< there is no such way

  std::array<std::array<float, tuner_abi::kProtocols>, tuner_abi::kAlgorithms> us;

  TunedCosts() {
    for (auto& row : us) row.fill(kNone);
  }
  float& at(TunedAlgorithm algorithm, TunedProtocol protocol) {
    return us[static_cast<size_t>(algorithm)][static_cast<size_t>(protocol)];
  }
  bool operator==(const TunedCosts&) const = default;
};

struct TunerSpec {
  std::string plugin;         ///< file or name, as NCCL_TUNER_PLUGIN has it; empty: libnccl-tuner.so, if any
  std::string net_plugins;    ///< as NCCL_NET_PLUGIN has it: one of them may have a tuner
  uint64_t communicator = 0;  ///< told from version 5 on, like domains
  size_t ranks = 1;
  size_t nodes = 1;
  int least_ranks_per_node = 1;
  int most_ranks_per_node = 1;
};

class Tuner {
 public:
  /// Null where there is no plugin. Errors: one is asked for and cannot be had, or its init failed. Its code
  /// stays in the process for good.
  static Result<std::unique_ptr<Tuner>> load(const TunerSpec& spec);
  ~Tuner();
  Tuner(const Tuner&) = delete;

  /// What it says to a collective of `bytes`, as NCCL counts them: of the largest buffer of a rank. It
  /// changes costs, and `channels` if it wants so many. Errors: it has no opinion; what it wrote does not
  /// count then.
  Status ask(TunedFunction function, size_t bytes, TunedCosts& costs, int& channels);

  std::string_view plugin_name() const { return name_; }
  int version() const { return version_; }

 private:
  Tuner(Library library, std::string file, int version)
      : library_(std::move(library)), file_(std::move(file)), version_(version) {}
  Status start(const TunerSpec& spec, const void* table);
  Status check(int result, const char* call) const;

  Library library_;
  std::string file_;
  int version_;
  std::string name_;
  tuner_abi::Ask* ask_ = nullptr;
  int (*finalize_)(void* context) = nullptr;  ///< null: not begun
  void* context_ = nullptr;
};

}  // namespace weir::drivers
