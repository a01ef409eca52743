// SPDX-License-Identifier: Apache-2.0
/// NCCL tuner plugins: shared objects that influence which algorithm a collective uses.
///
/// There is one Tuner per communicator, with the same lifetime. Errors have the code that the plugin
/// returned, and a message that names plugin and call.
///
/// Thread safety: different objects may be used by several threads at once, each object by one thread at a
/// time.
/// Tests: tests/drivers/tuner_test.cc
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>

#include "src/base/status.h"
#include "src/drivers/library.h"
#include "src/drivers/tuner_abi.h"

namespace weir::drivers {

/// NCCL's algorithms, with NCCL's numbers.
enum class TunedAlgorithm : uint8_t { tree, ring, collnet_direct, collnet_chain, nvls, nvls_tree, pat };
enum class TunedProtocol : uint8_t { ll, ll128, simple };
/// NCCL's collectives, with NCCL's numbers.
enum class TunedFunction : uint8_t { broadcast, reduce, all_gather, reduce_scatter, all_reduce };

/// The name in NCCL's spelling: "Tree", "Simple".
std::string_view name(TunedAlgorithm algorithm);
std::string_view name(TunedProtocol protocol);

/// The predicted time of each algorithm with each protocol.
struct TunedCosts {
  static constexpr float kNone = -1;  ///< the combination is not available

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
  std::string plugin;         ///< file or name, as in NCCL_TUNER_PLUGIN; empty: libnccl-tuner.so, if any
  std::string net_plugins;    ///< value of NCCL_NET_PLUGIN: one of these plugins may contain a tuner
  uint64_t communicator = 0;  ///< identifier passed to plugins from version 5 on, like domains
  size_t ranks = 1;
  size_t nodes = 1;
  int least_ranks_per_node = 1;
  int most_ranks_per_node = 1;
};

class Tuner {
 public:
  /// Loads the plugin; null if there is none. Errors: a requested plugin cannot be loaded, or its init
  /// failed. Its code stays in the process permanently.
  static Result<std::unique_ptr<Tuner>> load(const TunerSpec& spec);
  ~Tuner();
  Tuner(const Tuner&) = delete;

  /// Calls the plugin for a collective of `bytes`, counted as in NCCL: the size of a rank's largest buffer.
  /// The plugin may change `costs`, and `channels` to the number that it wants. On an error the caller must
  /// ignore what the plugin wrote.
  Status ask(TunedFunction function, size_t bytes, TunedCosts& costs, int& channels);
  /// Asks how many bytes a message may have where the collective runs by this algorithm. The plugin may
  /// change `chunk`; one before version 6, or without that function, leaves it. Errors as above.
  Status ask_chunk(TunedFunction function, size_t bytes, TunedAlgorithm algorithm, TunedProtocol protocol,
                   int channels, size_t& chunk);

  std::string_view plugin_name() const { return name_; }
  int version() const { return version_; }

 private:
  Tuner(Library library, std::string file, int version)
      : library_(std::move(library)), file_(std::move(file)), version_(version) {}
  Status start(const TunerSpec& spec, const void* table);
  template <typename Table>
  Status begin(const Table& table, const TunerSpec& spec);
  Status check(int result, const char* call) const;

  Library library_;
  std::string file_;
  int version_;
  std::string name_;
  std::variant<tuner_abi::AskV2*, tuner_abi::AskV3*, tuner_abi::Ask*> ask_;
  tuner_abi::AskChunk* ask_chunk_ = nullptr;  ///< null: the plugin has none
  int (*finalize_)(void* context) = nullptr;  ///< null until the plugin is initialized
  void* context_ = nullptr;
};

}  // namespace weir::drivers
