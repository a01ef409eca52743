// SPDX-License-Identifier: Apache-2.0

#include "bench/perf/outcome.h"

#include <fmt/format.h>
#include <unistd.h>

#include <string_view>
#include <utility>

namespace weir::perf {
namespace {

std::string place(const std::source_location& where) {
  std::string_view file = where.file_name();
  return fmt::format("{}:{}", file.substr(file.rfind('/') + 1), where.line());
}

std::string_view kind(ExitCode code) {
  switch (code) {
    case ExitCode::nccl: return "NCCL failure";
    case ExitCode::device: return "device failure";
    case ExitCode::timeout: return "timeout";
    case ExitCode::not_implemented: return "not possible";
    case ExitCode::usage: return "invalid usage";
    default: return "failure";
  }
}

}  // namespace

Outcome Outcome::failure(ExitCode code, std::string sentence, std::source_location where) {
  Outcome outcome;
  outcome.failure_ = std::make_unique<Failure>(Failure{code, std::move(sentence), where, {}});
  return outcome;
}

Outcome Outcome::through(std::source_location where) && {
  if (failure_) failure_->passed.push_back(where);
  return std::move(*this);
}

std::string Outcome::report() const {
  if (!failure_) return {};
  std::string host = host_name();
  std::string text = fmt::format("{}: Test {} {} '{}'\n", host, kind(failure_->code), place(failure_->origin),
                                 failure_->sentence);
  for (const std::source_location& where : failure_->passed)
    text += fmt::format(" .. {} pid {}: Test failure {}\n", host, getpid(), place(where));
  return text;
}

Outcome nccl_failure(ncclResult_t result, std::source_location where) {
  const char* last = ncclGetLastError(nullptr);
  return Outcome::failure(ExitCode::nccl,
                          fmt::format("{} / {}", ncclGetErrorString(result), last ? last : ""), where);
}

std::string host_name() {
  char name[256] = {};
  gethostname(name, sizeof(name) - 1);
  std::string text = name;
  return text.substr(0, text.find('.'));
}

}  // namespace weir::perf
