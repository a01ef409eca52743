// SPDX-License-Identifier: Apache-2.0

#include "stand_in/graphs.h"

#include <algorithm>

namespace fake {
namespace {

thread_local Mode thread_mode = Mode::global;

/// Captures under way. REQUIRES: the world's mutex.
std::vector<std::shared_ptr<Capture>> captures() {
  std::vector<std::shared_ptr<Capture>> found;
  for (const auto& [pointer, stream] : World::get().streams)
    if (stream->capture != nullptr && std::find(found.begin(), found.end(), stream->capture) == found.end())
      found.push_back(stream->capture);
  return found;
}

/// Whether the end of the first list comes after the ends of all others.
bool joined(const Graph& graph) {
  std::vector<size_t> reached(graph.branches.size(), 0);  // so many things of each list come before the end
  std::vector<std::pair<size_t, size_t>> open{{0, graph.branches[0].size()}};
  while (!open.empty()) {
    const auto [branch, count] = open.back();
    open.pop_back();
    for (size_t place = reached[branch]; place < count; ++place)
      for (const auto& [other, before] : graph.branches[branch][place].after)
        open.push_back({other, before + 1});
    reached[branch] = std::max(reached[branch], count);
  }
  for (size_t branch = 0; branch < graph.branches.size(); ++branch)
    if (reached[branch] < graph.branches[branch].size()) return false;
  return true;
}

/// Each after what it waits for: streams may share a hardware queue. `first`: so many things each stream had
/// before. REQUIRES: the world's mutex.
void submit_nodes(GraphRun& run, const std::vector<uint64_t>& first) {
  std::vector<size_t> next(run.graph.branches.size(), 0);
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t b = 0; b < next.size(); ++b) {
      const auto& nodes = run.graph.branches[b];
      const auto submitted = [&](const auto& after) { return next[after.first] > after.second; };
      while (next[b] < nodes.size() &&
             std::all_of(nodes[next[b]].after.begin(), nodes[next[b]].after.end(), submitted)) {
        std::vector<Until> untils;
        for (const auto& [branch, place] : nodes[next[b]].after)
          untils.push_back({run.streams[branch], first[branch] + 1 + place + 1});
        push(run.streams[b], nodes[next[b]++].work, std::move(untils));
        moved = true;
      }
    }
  }
}

void leave(const Capture& capture) {
  for (const auto& stream : capture.streams) stream->capture = nullptr;
}

}  // namespace

void spoil(Capture& capture) { capture.broken = true; }

int begin_capture(const std::shared_ptr<Stream>& stream, Mode mode) {
  if (stream == nullptr) return kInvalidHandle;
  const std::lock_guard lock(World::get().mutex);
  if (stream->is_legacy) return kCaptureUnsupported;
  if (stream->capture != nullptr) return kInvalidValue;
  auto capture = std::make_shared<Capture>();
  capture->graph.gpu = stream->gpu;
  capture->graph.branches.resize(1);
  capture->streams.push_back(stream);
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  static uint64_t number = 0;
  capture->number = ++number;
  stream->capture = std::move(capture);
  stream->branch = 0;
  return kSuccess;
}

int end_capture(const std::shared_ptr<Stream>& stream, Graph** graph) {
  *graph = nullptr;
  if (stream == nullptr) return kInvalidHandle;
  std::shared_ptr<Capture> capture;  // ends without the lock: what it keeps may call
  const std::lock_guard lock(World::get().mutex);
  capture = stream->capture;
  if (capture == nullptr) return kInvalidValue;
  if (capture->streams.front() != stream) {
    spoil(*capture);
    return kCaptureUnmatched;
  }
  if (capture->mode != Mode::relaxed && capture->thread != std::this_thread::get_id())
    return kCaptureWrongThread;
  leave(*capture);
  if (capture->broken) return kCaptureInvalidated;
  if (!joined(capture->graph)) return kCaptureUnjoined;
  *graph = new Graph(capture->graph);
  return kSuccess;
}

void capture_of(const std::shared_ptr<Stream>& stream, uint64_t* number, Graph** graph) {
  const std::lock_guard lock(World::get().mutex);
  const Capture* const capture = stream != nullptr ? stream->capture.get() : nullptr;
  *number = capture != nullptr ? capture->number : 0;
  *graph = capture != nullptr ? &stream->capture->graph : nullptr;
}

int capture_state(const std::shared_ptr<Stream>& stream, int* state) {
  if (stream == nullptr) return kInvalidHandle;
  const std::lock_guard lock(World::get().mutex);
  *state = stream->capture == nullptr ? 0 : stream->capture->broken ? 2 : 1;
  if (stream->is_legacy)
    for (const auto& capture : captures())
      for (const auto& other : capture->streams)
        if (other->blocking && other->gpu == stream->gpu) return kCaptureImplicit;
  return kSuccess;
}

int exchange_mode(int* mode) {
  if (*mode < 0 || *mode > 2) return kInvalidValue;
  const Mode before = thread_mode;
  thread_mode = static_cast<Mode>(*mode);
  *mode = static_cast<int>(before);
  return kSuccess;
}

int forbidden() {
  if (thread_mode == Mode::relaxed) return kSuccess;
  const std::lock_guard lock(World::get().mutex);
  int code = kSuccess;
  for (const auto& capture : captures()) {
    const bool own = capture->thread == std::this_thread::get_id() && capture->mode != Mode::relaxed;
    const bool others = thread_mode == Mode::global && capture->mode == Mode::global;
    if (!own && !others) continue;
    spoil(*capture);
    code = kCaptureUnsupported;
  }
  return code;
}

int record_node(const std::shared_ptr<Stream>& stream, Work work) {
  if (stream->capture->broken) return kCaptureInvalidated;
  stream->capture->graph.branches[stream->branch].push_back({std::move(work), {}});
  return kSuccess;
}

int join_capture(const std::shared_ptr<Stream>& stream, const Event& event) {
  if (stream->capture != nullptr && stream->capture != event.capture) {
    spoil(*stream->capture);
    spoil(*event.capture);
    return kCaptureMerge;
  }
  if (event.capture->broken || event.capture->streams.front()->capture != event.capture)
    return kCaptureInvalidated;
  if (stream->is_legacy) {
    spoil(*event.capture);
    return kCaptureImplicit;
  }
  if (stream->capture == nullptr) {
    stream->capture = event.capture;
    stream->branch = event.capture->streams.size();
    event.capture->streams.push_back(stream);
    event.capture->graph.branches.emplace_back();
  }
  stream->capture->graph.branches[stream->branch].push_back({Work{}, {{event.branch, event.place}}});
  return kSuccess;
}

GraphRun* instantiate(const Graph& graph) {
  auto run = std::make_unique<GraphRun>();
  run->graph = graph;
  for (size_t i = 0; i < graph.branches.size(); ++i) {
    void* handle = nullptr;
    make_stream(graph.gpu, false, &handle);
    run->streams.push_back(stream_of(handle));
  }
  return run.release();
}

int launch(GraphRun* run, const std::shared_ptr<Stream>& stream) {
  // Takes the stream's order with others, and says so where the stream is captured.
  {
    const std::lock_guard lock(World::get().mutex);
    if (stream != nullptr && stream->capture != nullptr) {
      spoil(*stream->capture);
      return kNotSupported;  // real ones make a child graph of it
    }
  }
  if (const int code = enqueue(stream, {}); code != kSuccess) return code;
  const std::lock_guard lock(World::get().mutex);
  const Until begin{stream, stream->queued};
  std::vector<uint64_t> first;
  for (const auto& branch : run->streams) first.push_back(branch->queued);
  for (const auto& branch : run->streams) push(branch, {}, {begin});
  submit_nodes(*run, first);
  std::vector<Until> end;
  for (const auto& branch : run->streams) end.push_back({branch, branch->queued});
  push(stream, {}, std::move(end));
  return kSuccess;
}

void destroy(GraphRun* run) {
  for (const auto& stream : run->streams) destroy_stream(stream.get());
  delete run;
}

}  // namespace fake
