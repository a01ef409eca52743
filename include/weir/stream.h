// SPDX-License-Identifier: Apache-2.0
/// Streams and events on host memory, for callers of nccl.h that want to do something else meanwhile.
///
/// A collective with a NULL stream is complete when the call (or its group) returns. With a weirStream_t,
/// cast to cudaStream_t, it is queued: the call returns at once, and the stream carries out what was queued
/// on it in order, on a thread of its own.
///
///     weirStream_t stream;
///     weirStreamCreate(&stream);
///     ncclAllReduce(in, out, n, ncclFloat, ncclSum, comm, (cudaStream_t)stream);
///     compute_something_else();
///     weirStreamSynchronize(stream);
///
/// Every function returns an ncclResult_t as an int: 0 success, 7 (ncclInProgress) not done yet, else an
/// error, and ncclGetLastError says in a sentence what was wrong. Handles that were destroyed, or never were
/// one, are refused (4, ncclInvalidArgument). All functions may be called from any thread. C and C++; needs
/// no other header.
#ifndef WEIR_STREAM_H_
#define WEIR_STREAM_H_

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weirStream* weirStream_t;
typedef struct weirEvent* weirEvent_t;

int weirStreamCreate(weirStream_t* stream);
/* Waits for what is queued. The first error of the stream, if there was one; the stream is gone in any case.
 */
int weirStreamDestroy(weirStream_t stream);
/* Waits for what was queued before the call. The first error of the stream, if there was one: an error stays.
   NULL: success, since nothing is ever queued there. Not to be called from a function that the stream carries
   out. */
int weirStreamSynchronize(weirStream_t stream);
/* The first error of the stream, else 7 while something is queued, else 0. */
int weirStreamQuery(weirStream_t stream);
/* What is queued on the stream from now on waits until the event is reached: the place where it was recorded
   last, as of this call. NULL: the caller waits. */
int weirStreamWaitEvent(weirStream_t stream, weirEvent_t event);

int weirEventCreate(weirEvent_t* event);
/* What waits for the event goes on waiting for the place where it was recorded. */
int weirEventDestroy(weirEvent_t event);
/* Marks the end of what is queued on the stream; NULL: this moment. */
int weirEventRecord(weirEvent_t event, weirStream_t stream);
/* 7 until the stream has come to the mark; 0 afterwards, and when nothing was recorded. */
int weirEventQuery(weirEvent_t event);
int weirEventSynchronize(weirEvent_t event);
/* Time from one mark to another. 7 while one was not reached, 5 (ncclInvalidUsage) when one was never
 * recorded. */
int weirEventElapsedTime(float* milliseconds, weirEvent_t start, weirEvent_t stop);

#ifdef __cplusplus
}
#endif

#endif
