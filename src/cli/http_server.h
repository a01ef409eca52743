// SPDX-License-Identifier: Apache-2.0
/// A small HTTP server for one page of text that is made anew for each request.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "src/net/socket.h"
#include "weir/status.h"

namespace weir::cli {

/// The whole answer to a request of which `head` is everything before the empty line: 200 with what `page`
/// makes for GET or HEAD of `path`, with a query or without; else 404, 405 or 400 with a sentence.
std::string http_answer(std::string_view head, std::string_view path,
                        const std::function<std::string()>& page);

/// Answers requests one after the other, for ever; returns only an error. Who does not send its request, or
/// does not take its answer, is left after two seconds.
Status serve_page(const Socket& listener, std::string_view path, const std::function<std::string()>& page);

}  // namespace weir::cli
