// SPDX-License-Identifier: Apache-2.0
/// Sums whose bits depend on nothing but the number of their parts: the same for any number of ranks, for any
/// plan and transport, and whoever has which part.
///
/// A grain is the smallest part of what is summed, say the gradient of one sequence of a global batch, with
/// a number from 0. Values are added in fp32 in the order of the balanced binary tree over these numbers:
/// (0 + 1) + (2 + 3), ...; where the number of grains is no power of two, halves without grains add nothing.
/// Each rank brings a contiguous range of grains (in an exchange, for several exchanges make a sum) and gets
/// the sum of a piece of the array: a reduce-scatter. What a rank sends is what a ring would send for each of
/// the at most 2 log2 G sub-trees that cover its range, one for ranges of equal powers of two.
///
///     weirGrainSumCreate(&sum, comm, elements, pieces);
///     weirGrainSumBegin(sum, 11);                              // a global batch of 11 sequences
///     for (own grain : mine) {
///       weirGrainSumOpen(sum, &array);
///       add_gradients_of(grain, array);
///       weirGrainSumClose(sum, grain, grain + 1);
///     }
///     weirGrainSumExchange(sum, ranges, stream, NULL);
///     compute_something_else();
///     weirGrainSumSettle(sum);
///     weirGrainSumFinish(sum, own_piece);
///
/// Host memory only. Every function but weirTreeSum returns an ncclResult_t as an int, as those of
/// weir/stream.h do: 0 success; 4 (ncclInvalidArgument) for what is wrong by itself, handles that were
/// destroyed included; 5 (ncclInvalidUsage) for what does not come in this order; else the communicator's
/// error. ncclGetLastError says in a sentence what was wrong. A sum is used by one thread at a time. C and
/// C++; needs no other header of this library.
#ifndef WEIR_GRAINS_H_
#define WEIR_GRAINS_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ncclComm;
struct weirStream;
typedef struct weirGrainSum* weirGrainSum_t;

/* Grains [first, end). */
typedef struct weirGrainRange {
  uint64_t first;
  uint64_t end;
} weirGrainRange_t;

/* Elements [first, first + count) of an array. */
typedef struct weirElementRange {
  size_t first;
  size_t count;
} weirElementRange_t;

/* For sums of arrays of `elements` floats, one sum after the other. pieces[rank] is what `rank` gets of them;
   pieces do not overlap, and may be empty. All ranks give the same; waits for nobody. The communicator is a
   blocking one and outlives the sum; arrays that sums of one communicator no longer need are used again by
   its others. */
int weirGrainSumCreate(weirGrainSum_t* sum, struct ncclComm* comm, size_t elements,
                       const weirElementRange_t* pieces);
/* Waits until no stream reads its arrays. The sum is gone in any case. */
int weirGrainSumDestroy(weirGrainSum_t sum);

/* The next sum is over `grains` grains, 1 to 2^62, on all ranks. What was not finished is forgotten. */
int weirGrainSumBegin(weirGrainSum_t sum, uint64_t grains);
/* An array of zeros to add to, the library's, valid until it is closed. Once more before that: the same one.
 */
int weirGrainSumOpen(weirGrainSum_t sum, float** array);
/* What was opened is the sum of these grains of this rank: one grain, or a sub-tree of them, which begins at
   a multiple of its size. */
int weirGrainSumClose(weirGrainSum_t sum, uint64_t first, uint64_t end);
/* Sends what was closed since the last exchange and receives from all ranks. ranges[rank] are the grains that
   `rank` closed, the same on all ranks; an empty range brings nothing. Collective. With a stream it is queued
   there, without (NULL) it is done on return. `sent` may be NULL; else the bytes that go to other ranks. */
int weirGrainSumExchange(weirGrainSum_t sum, const weirGrainRange_t* ranges, struct weirStream* stream,
                         size_t* sent);
/* Waits for the oldest exchange that was not settled, and adds what it brought. */
int weirGrainSumSettle(weirGrainSum_t sum);
/* Writes this rank's piece of the sum over all grains, all of which must have been exchanged and settled. The
   next sum begins with weirGrainSumBegin. */
int weirGrainSumFinish(weirGrainSum_t sum, float* result);

/* All of it at once, for a sum that all ranks get whole: `own` are the grains of this rank, and grains_data
   their arrays of `count` floats one after the other. The ranges of all ranks are disjoint and make `grains`
   grains. Collective; returns when it is done. `result` may not overlap `grains_data`. */
int weirGrainAllReduce(const float* grains_data, float* result, size_t count, weirGrainRange_t own,
                       uint64_t grains, struct ncclComm* comm);

/* The sum of values in the order of the tree over their places; 0 for none. Any thread. */
float weirTreeSum(const float* values, size_t count);

#ifdef __cplusplus
}
#endif

#endif /* WEIR_GRAINS_H_ */
