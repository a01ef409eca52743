// SPDX-License-Identifier: Apache-2.0
/// An opened device of libibverbs; for verbs*.cc of src/drivers.
/// Tests: tests/transports/verbs_test.cc
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "src/drivers/verbs.h"
#include "src/drivers/verbs_table.h"

namespace weir::drivers {

/// The deleter of unique_ptrs to libibverbs' objects: calls the function that destroys them.
struct VerbsRelease {
  const VerbsTable* table = nullptr;
  void operator()(ibv_context* context) const { table->close_device(context); }
  void operator()(ibv_pd* domain) const { table->dealloc_pd(domain); }
  void operator()(ibv_mr* region) const { table->dereg_mr(region); }
  void operator()(ibv_cq* queue) const { table->destroy_cq(queue); }
  void operator()(ibv_qp* pair) const { table->destroy_qp(pair); }
};
template <typename T>
using VerbsOwned = std::unique_ptr<T, VerbsRelease>;

class OpenedVerbsDevice final : public VerbsDevice {
 public:
  /// Opens a device. `table` must outlive it.
  static Result<std::unique_ptr<VerbsDevice>> open(const VerbsTable& table, ibv_device* device);

  Result<std::unique_ptr<VerbsRegion>> enroll(std::byte* memory, size_t bytes) override;
  Result<std::unique_ptr<VerbsRegion>> enroll_file(int file, std::byte* memory, size_t bytes) override;
  Result<std::unique_ptr<VerbsPair>> make_pair(const VerbsPairSpec& spec) override;
  std::optional<VerbsEvent> next_event() override;

 private:
  OpenedVerbsDevice(const VerbsTable& table, std::string name, VerbsOwned<ibv_context> context,
                    VerbsOwned<ibv_pd> domain, uint32_t most_requests, VerbsPacing pacing)
      : table_(table),
        name_(std::move(name)),
        context_(std::move(context)),
        domain_(std::move(domain)),
        most_requests_(most_requests),
        pacing_(pacing) {}

  const VerbsTable& table_;
  const std::string name_;
  const VerbsOwned<ibv_context> context_;
  const VerbsOwned<ibv_pd> domain_;
  const uint32_t most_requests_;  ///< maximum number of requests of a pair in one direction
  const VerbsPacing pacing_;
  std::mutex events_;  ///< serializes readers of the event descriptor
};

/// Makes a queue pair on `device`. All arguments passed by reference must outlive it.
Result<std::unique_ptr<VerbsPair>> make_verbs_pair(const VerbsTable& table, const std::string& device,
                                                   ibv_context& context, ibv_pd& domain,
                                                   const VerbsPairSpec& spec, VerbsPacing pacing);

}  // namespace weir::drivers
