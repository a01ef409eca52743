// SPDX-License-Identifier: Apache-2.0
// libcudart.so of the stand-in: the less common questions about streams, events and graphs.
#include <atomic>
#include <cstdint>

#include "stand_in/runtime.h"
#include "stand_in/world.h"

using namespace fake;

namespace {

/// An object that a program lets graphs keep: ends with its last reference.
struct UserObject {
  void* object;
  void (*destroy)(void*);
  std::atomic<unsigned> references;
};

/// A callback that wants to know the stream and its state.
struct Callback {
  void (*function)(void* stream, int status, void* argument);
  void* stream;
  void* argument;
};
void call_back(void* callback) {
  Callback* const one = static_cast<Callback*>(callback);
  one->function(one->stream, 0, one->argument);
  delete one;
}

}  // namespace

extern "C" {

int cudaStreamGetPriority(void*, int* priority) { return *priority = 0; }
int cudaStreamAddCallback(void* stream, void (*function)(void*, int, void*), void* argument, unsigned) {
  if (ready() != 0) return ready();
  auto* const callback = new Callback{function, stream, argument};
  const int code = cuLaunchHostFunc(stream, &call_back, callback);
  if (code != 0) delete callback;
  return keep(code);
}
int cudaEventRecordWithFlags(void* event, void* stream, unsigned) {
  return ready() != 0 ? ready() : keep(cuEventRecord(event, stream));
}
int cudaEventElapsedTime(float* milliseconds, void* begin, void* end) {
  return ready() != 0 ? ready() : keep(cuEventElapsedTime_v2(milliseconds, begin, end));
}

/// The graph has no nodes that could be seen.
int cudaStreamGetCaptureInfo(void* stream, int* state, unsigned long long* id, void** graph,
                             const void*** nodes, const void** edges, size_t* count) {
  if (ready() != 0) return ready();
  unsigned long long number = 0;
  void* captured = nullptr;
  const int code = fake_capture_info(stream, state, &number, &captured);
  if (id != nullptr) *id = number;
  if (graph != nullptr) *graph = captured;
  if (nodes != nullptr) *nodes = nullptr;
  if (edges != nullptr) *edges = nullptr;
  if (count != nullptr) *count = 0;
  return keep(code);
}
int cudaStreamGetCaptureInfo_v2(void* stream, int* state, unsigned long long* id, void** graph,
                                const void*** nodes, size_t* count) {
  return cudaStreamGetCaptureInfo(stream, state, id, graph, nodes, nullptr, count);
}

int cudaUserObjectCreate(void** handle, void* object, void (*destroy)(void*), unsigned references, unsigned) {
  return *handle = new UserObject{object, destroy, {references}}, 0;
}
int cudaUserObjectRelease(void* handle, unsigned count) {
  UserObject* const one = static_cast<UserObject*>(handle);
  if (one->references.fetch_sub(count) > count) return 0;
  one->destroy(one->object);
  delete one;
  return 0;
}
/// The graph keeps the object until it is destroyed, and so does what was instantiated from it.
int cudaGraphRetainUserObject(void* graph, void* handle, unsigned count, unsigned flags) {
  UserObject* const one = static_cast<UserObject*>(handle);
  constexpr unsigned kMove = 1;
  if ((flags & kMove) == 0) one->references.fetch_add(count);
  for (unsigned i = 0; i < count; ++i)
    fake_graph_keep(graph, one, [](void* kept) { cudaUserObjectRelease(kept, 1); });
  return 0;
}

int cudaGraphInstantiateWithFlags(void** run, void* graph, unsigned long long flags) {
  return keep(cuGraphInstantiateWithFlags(run, graph, flags));
}
int cudaDeviceGetGraphMemAttribute(int, int, void* value) { return *static_cast<uint64_t*>(value) = 0, 0; }
int cudaDeviceSetGraphMemAttribute(int, int, void*) { return 0; }

// Graphs are lists here, without nodes that could be seen.
int cudaGraphGetNodes(void*, void**, size_t* count) { return *count = 0, 0; }
int cudaGraphNodeGetDependencies() { return keep(kNotSupported); }
int cudaGraphAddNode() { return keep(kNotSupported); }
int cudaGraphDebugDotPrint() { return keep(kNotSupported); }
int cudaGraphConditionalHandleCreate() { return keep(kNotSupported); }
int cudaStreamBeginCaptureToGraph() { return keep(kNotSupported); }
int cudaStreamUpdateCaptureDependencies() { return keep(kNotSupported); }
}
