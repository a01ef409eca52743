// SPDX-License-Identifier: Apache-2.0
/// Sums whose bits depend only on the number of their parts: they are the same for any number of ranks, plan,
/// transport and distribution of the parts over ranks.
///
/// A grain is the smallest part of a sum, such as the gradient of one sequence of a global batch; grains are
/// numbered from 0. Values are added in fp32 in the order of the balanced binary tree over these numbers:
/// (0 + 1) + (2 + 3), ...; if the number of grains is not a power of two, halves of the tree without grains
/// add nothing. In each exchange (a sum may have several) each rank contributes a contiguous range of grains;
/// at the end it gets the sum of a piece of the array, as in a reduce-scatter. A rank sends as many bytes as
/// a ring would send for each sub-tree of its range: at most 2 log2 G sub-trees, and one if all ranges have
/// the same power-of-two size.
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
/// Host memory only. Every function except weirTreeSum returns an ncclResult_t as an int, like those of
/// weir/stream.h: 0 (success); 4 (ncclInvalidArgument) for an invalid argument, including destroyed handles;
/// 5 (ncclInvalidUsage) for a call in the wrong order; else the communicator's error. ncclGetLastError
/// describes the error in a sentence. A sum may be used by one thread at a time. C and C++; needs no other
/// header of this library.
/// Tests: tests/api/grains_test.cc
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

/* The grains [first, end). */
typedef struct weirGrainRange {
  uint64_t first;
  uint64_t end;
} weirGrainRange_t;

/* The elements [first, first + count) of an array. */
typedef struct weirElementRange {
  size_t first;
  size_t count;
} weirElementRange_t;

/* Creates an object for sums of arrays of `elements` floats, one sum after the other. pieces[rank] is the
   piece of each sum that `rank` gets; pieces must not overlap and may be empty. All ranks pass the same
   arguments; does not wait for other ranks. The communicator must be blocking and must outlive the sum; sums
   of one communicator reuse each other's unused arrays. */
int weirGrainSumCreate(weirGrainSum_t* sum, struct ncclComm* comm, size_t elements,
                       const weirElementRange_t* pieces);
/* Destroys the sum after waiting until no stream reads its arrays. The sum is destroyed even if an error is
   returned. */
int weirGrainSumDestroy(weirGrainSum_t sum);

/* Begins the next sum, over `grains` grains (1 to 2^62), on all ranks. An unfinished sum is discarded. */
int weirGrainSumBegin(weirGrainSum_t sum, uint64_t grains);
/* Gets an array of zeros, owned by the library, to which the caller adds; it is valid until it is closed. A
   repeated call before that gets the same array. */
int weirGrainSumOpen(weirGrainSum_t sum, float** array);
/* Declares that the open array contains the sum of these grains of this rank: one grain, or a sub-tree of
   grains that begins at a multiple of its size. */
int weirGrainSumClose(weirGrainSum_t sum, uint64_t first, uint64_t end);
/* Sends the sums closed since the last exchange and receives those of all ranks. ranges[rank] are the grains
   that `rank` closed, the same array on all ranks; an empty range contributes nothing. Collective. With a
   stream the exchange is queued on it; with NULL it is complete on return. `sent`, if not NULL, gets the
   number of bytes sent to other ranks. */
int weirGrainSumExchange(weirGrainSum_t sum, const weirGrainRange_t* ranges, struct weirStream* stream,
                         size_t* sent);
/* Waits for the oldest exchange that was not settled yet, and adds what it received. */
int weirGrainSumSettle(weirGrainSum_t sum);
/* Writes this rank's piece of the sum over all grains, all of which must have been exchanged and settled. The
   next sum begins with weirGrainSumBegin. */
int weirGrainSumFinish(weirGrainSum_t sum, float* result);

/* Computes a sum in one call; all ranks get the whole sum. `own` are the grains of this rank, and
   `grains_data` contains their arrays of `count` floats one after the other. The ranges of all ranks must be
   disjoint and contain `grains` grains together. Collective; returns when the sum is complete. `result` must
   not overlap `grains_data`. */
int weirGrainAllReduce(const float* grains_data, float* result, size_t count, weirGrainRange_t own,
                       uint64_t grains, struct ncclComm* comm);

/* The sum of values in the order of the balanced binary tree over their indices; 0 if count is 0. Any thread.
 */
float weirTreeSum(const float* values, size_t count);

#ifdef __cplusplus
}
#endif

#endif /* WEIR_GRAINS_H_ */
