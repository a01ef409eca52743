// SPDX-License-Identifier: Apache-2.0
/// An object of each thread, made on first use and destroyed when the thread ends.
///
/// Unlike a thread_local object with a destructor it can run out of memory: the C library ends the process
/// where it has no memory to remember such a destructor.
///
/// A PerThread itself lives as long as the process. Thread-safe; an object belongs to its thread.
/// Tests: tests/base/per_thread_test.cc
#pragma once

#include <pthread.h>

#include <memory>
#include <new>

namespace weir {

template <typename T>
class PerThread {
 public:
  PerThread() : valid_(pthread_key_create(&key_, [](void* made) { delete static_cast<T*>(made); }) == 0) {}
  PerThread(const PerThread&) = delete;
  PerThread& operator=(const PerThread&) = delete;

  /// The object of the calling thread. Throws std::bad_alloc if there is no memory for it.
  T& get() {
    if (!valid_) throw std::bad_alloc();
    if (void* const made = pthread_getspecific(key_)) return *static_cast<T*>(made);
    auto made = std::make_unique<T>();
    if (pthread_setspecific(key_, made.get()) != 0) throw std::bad_alloc();
    return *made.release();
  }

 private:
  pthread_key_t key_{};
  const bool valid_;
};

}  // namespace weir
