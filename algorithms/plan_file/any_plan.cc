// SPDX-License-Identifier: Apache-2.0

#include "algorithms/plan_file/any_plan.h"

#include <fmt/format.h>

#include "algorithms/ir/text.h"
#include "algorithms/msccl/msccl.h"
#include "algorithms/mscclpp/mscclpp.h"

namespace weir::algorithms {

Result<ir::Plan> read_any_plan(std::string_view text, const std::string& name) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  const char begin = first == std::string_view::npos ? '\0' : text[first];
  if (begin == '<') return msccl::read(text, name);
  if (begin == '{') return mscclpp::read(text, name);
  auto plan = ir::read_text(text);
  if (!plan.ok()) return Status(plan.status().code(), fmt::format("{}: {}", name, plan.status().message()));
  return plan;
}

}  // namespace weir::algorithms
