// SPDX-License-Identifier: Apache-2.0
/// Streams, events and captures of the stand-in. A stream is a thread that does one thing after the other;
/// each may wait for things of other streams and for words that anybody writes.
#pragma once

#include "stand_in/world.h"

namespace fake {

struct Capture;

/// Something that a stream does. Runs again at each launch of a graph.
struct Work {
  std::function<bool()> ready;  ///< asked until it says so; none: at once
  std::function<int()> run;     ///< returns an error; one that is not success breaks the GPU
};

/// So many things of a stream.
struct Until {
  std::shared_ptr<Stream> stream;
  uint64_t count = 0;
};

/// Streams that share one begin what they do in the order in which it was submitted.
struct HardwareQueue {
  uint64_t submitted = 0;
  uint64_t begun = 0;
};

struct Submitted {
  Work work;
  std::vector<Until> until;
  uint64_t ticket = 0;  ///< in the hardware queue
};

struct Stream {
  int gpu = 0;
  std::shared_ptr<HardwareQueue> hardware;  ///< null: one of its own
  bool blocking = true;                     ///< orders itself with the legacy default stream
  bool is_legacy = false;
  bool ends = false;  ///< when nothing is left to do
  uint64_t queued = 0;
  uint64_t done = 0;
  std::deque<Submitted> work;
  std::shared_ptr<Capture> capture;
  size_t branch = 0;  ///< of the capture
};

/// Where an event was recorded last: a count that other processes may share, or a place in a capture.
struct EventPage {
  std::atomic<uint64_t> recorded{0};
  std::atomic<uint64_t> done{0};
  std::atomic<int64_t> reached_ns{0};  ///< of the steady clock
};
struct Event {
  std::shared_ptr<EventPage> page;
  int file = -1;
  bool shared = false;
  std::shared_ptr<Capture> capture;
  size_t branch = 0, place = 0;
};

struct EventHandle {
  char magic[8];
  int64_t process;
  int32_t file;
  char zeroes[44];
};
static_assert(sizeof(EventHandle) == 64);

/// Null, 1 and 2 are the default streams of the current GPU. Null where it is no stream.
std::shared_ptr<Stream> stream_of(void* handle);
int make_stream(int gpu, bool blocking, void** handle);
int destroy_stream(void* handle);

/// Queues, or records where the stream is captured. As real drivers it blocks the caller while too much is
/// pending (WEIR_FAKE_GPU_PENDING).
int enqueue(const std::shared_ptr<Stream>& stream, Work work);
/// The same without looking at captures. REQUIRES: the world's mutex.
void push(const std::shared_ptr<Stream>& stream, Work work, std::vector<Until> until);
/// Waits on the host; the GPU's error, if there is one.
int synchronize(const std::shared_ptr<Stream>& stream);
int query(const std::shared_ptr<Stream>& stream);
int synchronize_gpu(int gpu);

int make_event(bool shared, void** handle);
int destroy_event(void* handle);
int record(Event* event, const std::shared_ptr<Stream>& stream);
int wait(Event* event, const std::shared_ptr<Stream>& stream);
int query(Event* event);
int synchronize(Event* event);
/// Between two that were reached; kNotReady while one was not.
int elapsed(Event* begin, Event* end, float* milliseconds);
int make_handle(Event* event, EventHandle* handle);
int open_event(const EventHandle& handle, void** event);

}  // namespace fake
