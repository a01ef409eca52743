// SPDX-License-Identifier: Apache-2.0
// Reports of processes, which tools print: what is read shows no control characters, and is read again alike.
#include "src/base/printable.h"
#include "src/core/diagnosis/process_report.h"
#include "src/survey/job.h"
#include "src/survey/survey.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace weir;
  const auto report = core::read_report(text_of(data, size));
  if (!report.ok()) {
    require(printable(report.status().message(), 2 * kMostPrinted) == report.status().message());
    return 0;
  }
  require(printable(report->program, 2 * kMostPrinted) == report->program);
  const std::string written = core::to_json(*report);
  const auto again = core::read_report(written);
  require(again.ok() && core::to_json(*again) == written);
  survey::QueriedProcess process;
  process.host = report->hostname;
  process.pid = report->pid;
  process.report = *report;
  (void)survey::by_communicator({process});
  (void)survey::job_of({process}, 0.1);
  return 0;
}
