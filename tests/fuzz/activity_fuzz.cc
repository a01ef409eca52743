// SPDX-License-Identifier: Apache-2.0
// What a listener is asked, and what it answers: questions about a rank, notices of failures, window puts.
#include "src/core/diagnosis/activity_registry.h"
#include "src/core/diagnosis/process_report.h"
#include "src/core/execution/window.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace weir;
  const BytesView bytes = bytes_of(data, size);
  core::ActivityRegistry activities;
  (void)activities.answer(7, bytes);
  if (core::is_report_question(bytes)) (void)core::answer_report_question(activities, 1, bytes);
  if (const auto report = core::ActivityRegistry::read_report(bytes)) {
    require(report->snapshot.also.size() <= size / sizeof(Rank));
    if (report->snapshot.failure) require(!report->snapshot.failure->status.ok());
  }
  core::WindowRegistry windows;
  if (core::WindowRegistry::is_meant(bytes)) (void)windows.answer(7, bytes);
  (void)core::WindowRegistry::read_answer(bytes);
  return 0;
}
