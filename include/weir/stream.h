// SPDX-License-Identifier: Apache-2.0
/// Streams and events on host memory, for callers of nccl.h that overlap communication with other work.
///
/// A collective with a NULL stream is complete when the call (or its group) returns. With a weirStream_t,
/// cast to cudaStream_t, it is queued: the call returns at once, and the stream executes queued operations in
/// order on its own thread.
///
///     weirStream_t stream;
///     weirStreamCreate(&stream);
///     ncclAllReduce(in, out, n, ncclFloat, ncclSum, comm, (cudaStream_t)stream);
///     compute_something_else();
///     weirStreamSynchronize(stream);
///
/// Every function returns an ncclResult_t as an int: 0 (success), 7 (ncclInProgress: not done yet), or an
/// error, which ncclGetLastError describes in a sentence. Destroyed and invalid handles are refused (4,
/// ncclInvalidArgument). All functions may be called from any thread. C and C++; needs no other header.
/// Tests: tests/api/stream_test.cc
#ifndef WEIR_STREAM_H_
#define WEIR_STREAM_H_

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weirStream* weirStream_t;
typedef struct weirEvent* weirEvent_t;

int weirStreamCreate(weirStream_t* stream);
/* Waits for all queued operations, then destroys the stream. Returns the first error of the stream, if any;
   the stream is destroyed even then. */
int weirStreamDestroy(weirStream_t stream);
/* Waits for all operations queued before the call. Returns the first error of the stream, if any; an error is
   never cleared. NULL: success, because no operation is ever queued there. Must not be called from a function
   that the stream executes. */
int weirStreamSynchronize(weirStream_t stream);
/* Returns the first error of the stream, else 7 while an operation is queued, else 0. */
int weirStreamQuery(weirStream_t stream);
/* Makes operations that are queued on the stream from now on wait for the event, as recorded last before this
   call. NULL: the caller waits. */
int weirStreamWaitEvent(weirStream_t stream, weirEvent_t event);

int weirEventCreate(weirEvent_t* event);
/* Destroys the event; waits that have begun are not affected. */
int weirEventDestroy(weirEvent_t event);
/* Records the event at the current end of the stream's queue; NULL: the event is reached at once. */
int weirEventRecord(weirEvent_t event, weirStream_t stream);
/* Returns 7 until the stream has reached the event; 0 afterwards, and if the event was never recorded. */
int weirEventQuery(weirEvent_t event);
int weirEventSynchronize(weirEvent_t event);
/* Gets the time from `start` to `stop` in milliseconds. Returns 7 while one of them is not reached, 5
 * (ncclInvalidUsage) if one was never recorded. */
int weirEventElapsedTime(float* milliseconds, weirEvent_t start, weirEvent_t stop);

#ifdef __cplusplus
}
#endif

#endif
