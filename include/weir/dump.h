// SPDX-License-Identifier: Apache-2.0
/// What this process is doing, in a file: its communicators, who waits for whom, the last operations. C and
/// C++; needs no other header.
///
///     weirDump("/tmp/weir-%h-%p.json");
///
/// `weir ps` shows the same of processes that run, `weir trace` draws it (docs/observability.md). Options
/// write such a file when a communicator fails, and on a signal (WEIR_DUMP_FILE, WEIR_DUMP_SIGNAL).
///
/// A program that must also run with NCCL's library declares the function weak, or asks dlsym for it.
#ifndef WEIR_DUMP_H_
#define WEIR_DUMP_H_

#ifdef __cplusplus
extern "C" {
#endif

/* Writes JSON to the file, in place of what is there; in its name %h stands for the host and %p for the
   process. Any thread at any time, also while others are inside communicators, which it does not disturb; not
   from a signal handler. Returns an ncclResult_t: 0; 4 (ncclInvalidArgument) where `path` is NULL or empty; 2
   (ncclSystemError) where the file cannot be written. ncclGetLastError says in a sentence what was wrong. */
int weirDump(const char* path);

#ifdef __cplusplus
}
#endif

#endif /* WEIR_DUMP_H_ */
