// SPDX-License-Identifier: Apache-2.0
/// Captures and graphs of the stand-in: per captured stream a list of what it would have done, with what each
/// thing waits for in other lists.
#pragma once

#include <thread>

#include "stand_in/streams.h"

namespace fake {

struct Node {
  Work work;
  std::vector<std::pair<size_t, size_t>> after;  ///< branch and place
};

struct Graph {
  int gpu = 0;
  std::vector<std::vector<Node>> branches;
  std::vector<std::shared_ptr<void>> kept;  ///< objects that live as long as the graph, or what is made of it
};

/// CUDA's numbers.
enum class Mode : int { global = 0, thread_local_only = 1, relaxed = 2 };

struct Capture {
  Graph graph;
  std::vector<std::shared_ptr<Stream>> streams;  ///< by branch; the first is where it began
  Mode mode = Mode::global;
  std::thread::id thread;
  bool broken = false;
  uint64_t number = 0;  ///< different for different captures
};

struct GraphRun {
  Graph graph;
  std::vector<std::shared_ptr<Stream>> streams;  ///< one per branch
};

int begin_capture(const std::shared_ptr<Stream>& stream, Mode mode);
int end_capture(const std::shared_ptr<Stream>& stream, Graph** graph);
/// 0: not; 1: yes; 2: yes, but spoilt.
int capture_state(const std::shared_ptr<Stream>& stream, int* state);
/// The capture of a stream and the graph that it makes, which is there until it ends; 0 and null: none.
void capture_of(const std::shared_ptr<Stream>& stream, uint64_t* number, Graph** graph);
/// Puts the thread's mode in and gives the one before.
int exchange_mode(int* mode);
/// kCaptureUnsupported where the thread must not make a call that might disturb a capture, which is spoilt
/// then.
int forbidden();

/// REQUIRES of these: the world's mutex, a stream that is captured.
int record_node(const std::shared_ptr<Stream>& stream, Work work);
int join_capture(const std::shared_ptr<Stream>& stream, const Event& event);
void spoil(Capture& capture);

GraphRun* instantiate(const Graph& graph);
int launch(GraphRun* run, const std::shared_ptr<Stream>& stream);
void destroy(GraphRun* run);

}  // namespace fake
