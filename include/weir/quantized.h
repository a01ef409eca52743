// SPDX-License-Identifier: Apache-2.0
/// Collectives on fp32 arrays that travel in fewer bytes: as int8 or fp8 with a scale per block, or as bf16
/// with stochastic rounding. For networks that are slow compared with the computation, as in ZeRO++ (Wang et
/// al., "ZeRO++: extremely efficient collective communication for giant model training", 2023), whose
/// quantized gathers (qwZ) and gradient reduction (qgZ) these are.
///
/// A block is WEIR_QUANTIZED_BLOCK consecutive elements, or those that are left at the end; blocks are
/// counted from the first of the `count` elements of a call on. Let m be the largest magnitude of a block,
/// and x an element of it. One rounding changes x by at most
///
/// | format | error of one rounding | bytes for n elements |
/// |---|---|---|
/// | weirQuantizedInt8 | m / 253 | n + 4 per block |
/// | weirQuantizedFloat8 (e4m3) | abs(x) / 15.9, or m / 400000 if that is more | n + 4 per block |
/// | weirQuantizedBfloat16 | abs(x) / 128, or 2^-133 if that is more; 0 on average | 2 n |
///
/// and each array that a rank sends another is padded to 4 bytes. Blocks of int8 and fp8 with m < 2^-100
/// become zeros. A NaN or an infinity makes its whole block NaN in int8 and fp8, and stays what it is in
/// bf16, where a magnitude above 3.38e38 may become an infinity: what is not finite is never rounded to a
/// number.
///
/// Stochastic rounding takes the upper or the lower neighbour with probabilities that make the expected value
/// x. Its random numbers are those of Philox4x32-10 (Salmon et al., 2011) at the counter of the element and,
/// in reductions, of the rank; the key is `seed`. Calls with one seed round alike, so pass another one in
/// each call, such as its number. The other formats round to nearest and ignore the seed.
///
/// All results are the same bits for the same arguments, whatever the plan and the transport, and each rank
/// of an all-gather or an all-reduce gets the same bits.
///
///     weirQuantizedReduceScatter(gradients, mine, count, weirQuantizedInt8, 0, comm, stream);
///     weirStreamSynchronize(stream);
///
/// Host memory only, aligned as floats. Collective; all ranks pass the same count, format and seed. The
/// communicator must be blocking, and a call is not part of a group of ncclGroupStart. With a stream a call
/// is queued on it; with NULL it is complete on return. Every function but weirQuantizedBytes returns an
/// ncclResult_t as an int: 0 (success); 4 (ncclInvalidArgument) for an invalid argument; 5
/// (ncclInvalidUsage) for a non-blocking communicator; else the communicator's error, after which the
/// contents of the output are undefined. ncclGetLastError describes the error in a sentence. One thread at a
/// time per communicator. The library keeps arrays for the encoded values, up to eight per communicator. C
/// and C++; needs no other header.
/// Tests: tests/api/quantized_test.cc
#ifndef WEIR_QUANTIZED_H_
#define WEIR_QUANTIZED_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ncclComm;
struct weirStream;

#define WEIR_QUANTIZED_BLOCK 128

/* How elements travel: the `format` of the functions below. */
enum { weirQuantizedInt8 = 0, weirQuantizedFloat8 = 1, weirQuantizedBfloat16 = 2 };

/* The bytes in which `count` elements travel from a rank to another one; 0 for an unknown format. In an
   all-gather a rank receives this (ranks - 1) times for its `count`, in a reduce-scatter it also sends that.
   Any thread. */
size_t weirQuantizedBytes(size_t count, int format);

/* Each rank gets the `count` elements of each rank, in the order of ranks, each rounded once; its own ones
   are rounded as well. `input` may be the rank's place in `output`. */
int weirQuantizedAllGather(const float* input, float* output, size_t count, int format, uint64_t seed,
                           struct ncclComm* comm, struct weirStream* stream);

/* Each rank gets the sum of `count` elements: rank r those from r * count on of the arrays of all ranks,
   which have `count` elements for each rank. Each contribution, the rank's own included, is rounded once; the
   sum is in fp32 in the order of ranks. Its error is thus at most the sum of the errors of one rounding of
   each contribution, beside that of a sum in fp32. `output` may lie in `input`. */
int weirQuantizedReduceScatter(const float* input, float* output, size_t count, int format, uint64_t seed,
                               struct ncclComm* comm, struct weirStream* stream);

/* Each rank gets the sum of the arrays of all ranks: a reduce-scatter as above, of blocks as equally as
   possible, and an all-gather of the sums, which rounds once more. A rank sends the bytes of about 2 count
   (ranks - 1) / ranks elements. `output` may be `input`. */
int weirQuantizedAllReduce(const float* input, float* output, size_t count, int format, uint64_t seed,
                           struct ncclComm* comm, struct weirStream* stream);

/* Rounds `count` elements as an all-gather of one rank does. `output` may be `input`. Any thread. */
int weirQuantizedRound(const float* input, float* output, size_t count, int format, uint64_t seed);

#ifdef __cplusplus
}
#endif

#endif /* WEIR_QUANTIZED_H_ */
