// SPDX-License-Identifier: Apache-2.0
/// PAT, "parallel aggregated trees" (arXiv 2506.20252): all-gather and reduce-scatter in log2(hosts) steps,
/// far ones first with little data. pat_schedule.h has the steps between hosts.
///
/// With several ranks per host every place of a host is a rail: the blocks of the ranks with that place
/// travel between the ranks with that place alone, so each foreign block enters each host once. Whoever got a
/// message from another host hands it to the others of its own directly. Hosts are the narrowest groups;
/// where they differ in size, the ranks of the smaller ones serve several rails, by turns. reduce_scatter is
/// the same backwards, sums instead of copies: the ranks of a host give what they have for a message to the
/// one that sends it, and one partial sum per foreign block leaves each host.
///
/// Blocks of one message are those of different hosts, so they are packed in scratch: as many blocks as the
/// schedule holds, rows x heads, per rail that a rank serves, and one row for what comes from the own host.
/// A block that is only in messages of its own is not packed. At most kPatAggregate blocks are in a message
/// and a slot holds a message, so scratch is a number of slots that grows with the logarithm of the hosts,
/// whatever the size of the operation: up to 2 * kPatAggregate hosts two slots per rail that a rank serves,
/// and two for the own host.
///
/// A rank sends one message per step and rail to other hosts. Inside, the rank that serves a rail exchanges
/// one per share of the schedule with every other: two up to 2 * kPatAggregate hosts.
///
/// Lane 0 has what goes to another rank of the own host, or comes from one. Each rail that a rank serves has
/// two lanes: one sends to other hosts, the other receives from them, and what its rank sends to them, and
/// keeps or adds it.
///
/// Pure. REQUIRES: shape.kind is the collective of the name, ranks >= 2, aggregate >= 1, and levels that
/// check_levels() accepts, or none: a rank per host. Any number of chunks; those of a block travel together.
/// The order of sums depends on the groups alone.
#pragma once

#include <span>

#include "algorithms/catalogue/layout.h"
#include "algorithms/ir/plan.h"

namespace weir::algorithms {

/// Blocks in a message at most: beyond, pieces of blocks would be small where a message has few of them.
inline constexpr int kPatAggregate = 64;

ir::Plan pat_all_gather(const ir::Shape& shape, std::span<const Groups> levels, int aggregate);
ir::Plan pat_reduce_scatter(const ir::Shape& shape, std::span<const Groups> levels, int aggregate);

}  // namespace weir::algorithms
