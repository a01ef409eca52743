// SPDX-License-Identifier: Apache-2.0
/// A minimal HTTP server for one text page that is generated for each request.
/// Tests: tests/cli/metrics_test.cc
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "src/base/status.h"
#include "src/net/socket.h"

namespace weir::cli {

/// Returns the complete response to a request whose header is `head` (everything before the empty line): 200
/// with the text of `page` for GET or HEAD of `path`, with or without a query; else 404, 405 or 400 with one
/// sentence.
std::string http_answer(std::string_view head, std::string_view path,
                        const std::function<std::string()>& page);

/// Serves requests one at a time, without end; returns only on an error. A client that does not send its
/// request or does not read the response within two seconds is disconnected.
Status serve_page(const Socket& listener, std::string_view path, const std::function<std::string()>& page);

}  // namespace weir::cli
