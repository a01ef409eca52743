// SPDX-License-Identifier: Apache-2.0
/// Traces for chrome://tracing and ui.perfetto.dev: one process per rank, one row per stream.
///
/// Format: "Trace Event Format" of the Chromium project, JSON object form, complete events.
#pragma once

#include <string>

#include "src/base/status.h"
#include "trainer/run/span.h"

namespace weir::trainer {

/// Times are microseconds since the first span. Pure.
std::string trace_of(const Timeline& timeline);

/// Whether write_file() could replace the file; what is there stays. Errors as of write_file().
Status try_file(const std::string& path, const char* what);

/// Replaces the file. Errors: system_error with the path and the reason.
Status write_file(const std::string& path, const std::string& text, const char* what);

}  // namespace weir::trainer
