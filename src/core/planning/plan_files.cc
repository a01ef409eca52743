// SPDX-License-Identifier: Apache-2.0

#include "src/core/planning/plan_files.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "algorithms/ir/rank_order.h"
#include "algorithms/ir/text.h"
#include "algorithms/plan_file/any_plan.h"
#include "src/base/log.h"
#include "src/base/printable.h"
#include "src/drivers/files.h"
#include "src/exec/plan_proof.h"

namespace weir::core {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostPlanBytes = size_t{64} << 20;

Status in_file(const std::string& file, const Status& status) {
  const bool named = status.message().find(file) != std::string::npos;
  return {status.code(), named ? status.message() : fmt::format("{}: {}", file, status.message())};
}

/// The files that `path` stands for.
Result<std::vector<std::string>> files_of(const std::string& path, const std::string& communicator) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return std::vector<std::string>{path};
  fs::path folder = path;
  const bool is_name = !communicator.empty() && communicator.find('/') == std::string::npos &&
                       communicator != "." && communicator != "..";
  if (is_name && fs::is_directory(folder / communicator, error)) folder /= communicator;
  const auto names = drivers::list_folder(folder.string());
  WEIR_TRY(names.status());
  std::vector<std::string> files;
  for (const std::string& name : *names) {
    const std::string ending = fs::path(name).extension();
    if (ending == ".plan" || ending == ".xml" || ending == ".json") files.push_back(folder / name);
  }
  return files;
}

std::string sizes_words(const ir::Plan& plan) {
  if (plan.most_bytes == UINT64_MAX)
    return plan.least_bytes == 0 ? "any size" : fmt::format("{} bytes and more", plan.least_bytes);
  return fmt::format("{} to {} bytes", plan.least_bytes, plan.most_bytes);
}

}  // namespace

Result<ir::LoadedPlan> read_plan_file(const std::string& file) {
  auto text = drivers::read_whole(file, kMostPlanBytes);
  if (!text.ok()) return in_file(file, text.status());
  auto plan = algorithms::read_any_plan(*text, file);
  if (!plan.ok()) return in_file(file, plan.status());
  return ir::loaded(file, std::move(*plan));
}

Result<ir::LoadedPlans> read_plan_files(const std::string& path, const std::string& communicator, int ranks,
                                        uint32_t slots, SumOrder order) {
  auto files = files_of(path, communicator);
  WEIR_TRY(files.status());
  ir::LoadedPlans plans;
  for (const std::string& file : *files) {
    auto read = read_plan_file(file);
    WEIR_TRY(read.status());
    const ir::Plan& plan = read->plan;
    if (plan.shape.ranks != ranks) {
      WEIR_INFO(init, "WEIR_PLAN_FILE: {} is left out: it is for {} ranks, and the communicator has {}", file,
                plan.shape.ranks, ranks);
      continue;
    }
    if (const Status proof = exec::prove(plan, slots); !proof.ok())
      return Status(Code::invalid_usage,
                    fmt::format("{} is not run, because its plan is wrong: {}", file, proof.message()));
    const Status in_order = order == SumOrder::ranks ? ir::check_rank_order(plan) : Status();
    if (!in_order.ok())
      return Status(Code::invalid_usage,
                    fmt::format("{} is not run, because the order of sums is that of the ranks "
                                "(WEIR_ORDER=ranks): {}",
                                file, in_order.message()));
    WEIR_INFO(init, "WEIR_PLAN_FILE: {} of {} runs the plan {} of {} (proven: {} moves, {} slots)",
              name(plan.shape.kind), sizes_words(plan), plan.algorithm, file, plan.moves.size(), slots);
    plans.add(std::make_shared<const ir::LoadedPlan>(std::move(*read)));
  }
  return plans;
}

Bytes encode_plans(const Result<ir::LoadedPlans>& read) {
  ByteWriter out;
  out.put(read.status().code()).put_string(read.status().message());
  if (!read.ok()) return out.take();
  out.put(static_cast<uint64_t>(read->all().size()));
  for (const auto& loaded : read->all())
    out.put_string(loaded->name).put_string(ir::write_text(loaded->plan));
  return out.take();
}

Result<ir::LoadedPlans> decode_plans(BytesView bytes) {
  ByteReader in(bytes);
  const auto code = in.get<Code>();
  const std::string message = printable(in.get_string());
  const bool is_error = code > Code::success && code <= Code::remote_error && !message.empty();
  if (in.ok() && is_error) return Status(code, message);
  if (code != Code::success)
    return Status(Code::remote_error, "rank 0 sent plans that this version does not know");
  ir::LoadedPlans plans;
  const auto count = in.get<uint64_t>();
  for (uint64_t i = 0; in.ok() && i < count; ++i) {
    std::string name = in.get_string();
    auto plan = ir::read_text(in.get_string());
    if (!plan.ok())
      return Status(Code::remote_error,
                    fmt::format("rank 0 sent a plan that cannot be read: {}; expected the "
                                "same version of weir on all ranks",
                                plan.status().message()));
    plans.add(std::make_shared<const ir::LoadedPlan>(ir::loaded(std::move(name), std::move(*plan))));
  }
  if (!in.ok()) return Status(Code::remote_error, "rank 0 sent plans that end too early");
  return plans;
}

}  // namespace weir::core
