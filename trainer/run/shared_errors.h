// SPDX-License-Identifier: Apache-2.0
/// The errors of the ranks that one process has started on a host. What several of them have to say, such as
/// that a file is missing, is printed once.
///
/// They share a file in memory that has the lines printed so far. A rank prints while it holds the file's
/// lock, so that none is silent because of a rank that ends before its line is out.
/// Tests: tests/trainer/launch_test.cc
#pragma once

#include <string>
#include <string_view>

namespace weir::trainer {

/// Makes the file, which programs that this process starts inherit; its descriptor, or -1 if that is
/// impossible: then every rank prints.
int open_shared_errors();

/// The descriptor that start_ranks() has given this rank, or -1: none, or, as on another host, one that is
/// no such file.
int shared_errors_of(std::string_view descriptor);

/// Prints "weir-train: `error`" and a line's end to stderr, unless another rank has done so.
void print_error(int shared_errors, const std::string& error);

}  // namespace weir::trainer
