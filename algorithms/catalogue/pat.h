// SPDX-License-Identifier: Apache-2.0
/// PAT, "parallel aggregated trees" (arXiv 2506.20252): all-gather and reduce-scatter in log2(hosts) steps;
/// distant hosts come first, with little data. pat_schedule.h has the steps between hosts.
///
/// With several ranks per host every position in a host is a rail: the blocks of the ranks with that position
/// move only between ranks with that position, so that each foreign block enters each host once. A rank that
/// received a message from another host passes it directly to the other ranks of its host. Hosts are the
/// narrowest groups; if they differ in size, the ranks of the smaller ones serve several rails in turn.
/// reduce_scatter is the same backwards, with sums instead of copies: the ranks of a host pass their data for
/// a message to the rank that sends it, and one partial sum per foreign block leaves each host.
///
/// The blocks of one message belong to different hosts, so they are packed in scratch: as many blocks as the
/// schedule keeps, rows x heads, per rail that a rank serves, and one row for data from the own host. A block
/// that is always alone in its messages is not packed. A message has at most kPatAggregate blocks and fits
/// into a slot, so scratch is a number of slots that grows with the logarithm of the hosts, whatever the size
/// of the operation: up to 2 * kPatAggregate hosts two slots per rail that a rank serves, and two for the own
/// host.
///
/// A rank sends one message per step and rail to other hosts. Inside a host, the rank that serves a rail
/// exchanges one message per share of the schedule with every other rank: two up to 2 * kPatAggregate hosts.
///
/// Lane 0 has messages to and from other ranks of the own host. Each rail that a rank serves has two lanes:
/// one sends to other hosts, the other receives from them and from its own rank, and stores or adds the data.
///
/// Pure. REQUIRES: shape.kind is the collective of the name, ranks >= 2, aggregate >= 1, and levels that
/// check_levels() accepts, or none: one rank per host. Any number of chunks; those of a block move together.
/// The order of sums depends only on the groups.
/// Tests: tests/algorithms/pat_test.cc
#pragma once

#include <span>

#include "algorithms/catalogue/layout.h"
#include "algorithms/ir/plan.h"

namespace weir::algorithms {

/// Maximum number of blocks in a message: with more, pieces of blocks would be small if a message has few of
/// them.
inline constexpr int kPatAggregate = 64;

ir::Plan pat_all_gather(const ir::Shape& shape, std::span<const Groups> levels, int aggregate);
ir::Plan pat_reduce_scatter(const ir::Shape& shape, std::span<const Groups> levels, int aggregate);

}  // namespace weir::algorithms
