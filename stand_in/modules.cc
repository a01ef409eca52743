// SPDX-License-Identifier: Apache-2.0

#include "stand_in/modules.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <set>
#include <string>

#include "stand_in/memory.h"
#include "stand_in/multiprocessors.h"

namespace fake {

constexpr char kImage[] = "fake-gpu-module:";
constexpr unsigned kMostBlocks = 1024;

namespace {

/// Those that are loaded: a driver does not forget them, though the process may. Guarded by World's mutex.
std::set<Module*>& modules() {
  static auto* const loaded = new std::set<Module*>;
  return *loaded;
}

}  // namespace

int load_module(const void* image, Module** module) {
  if (image == nullptr) return kInvalidValue;
  const char* path = std::getenv("WEIR_FAKE_GPU_KERNELS");
  if (std::strncmp(static_cast<const char*>(image), kImage, sizeof(kImage) - 1) == 0)
    path = static_cast<const char*>(image) + sizeof(kImage) - 1;
  void* const library = path != nullptr ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (library == nullptr) return kInvalidImage;
  *module = new Module{library};
  const std::lock_guard lock(World::get().mutex);
  modules().insert(*module);
  return kSuccess;
}

int unload_module(Module* module) {
  if (module == nullptr) return kInvalidHandle;
  dlclose(module->library);
  const std::lock_guard lock(World::get().mutex);
  modules().erase(module);
  delete module;
  return kSuccess;
}

int find_kernel(Module* module, const char* name, Kernel** kernel) {
  if (module == nullptr || name == nullptr) return kInvalidHandle;
  void* const function = dlsym(module->library, name);
  const void* const bytes = dlsym(module->library, (std::string(name) + "_argument_bytes").c_str());
  if (function == nullptr || bytes == nullptr) return kNotFound;
  // As real ones, kernels live as long as their module; the few of a process stay until its end.
  static auto* const kernels = new std::map<void*, std::unique_ptr<Kernel>>;
  const std::lock_guard lock(World::get().mutex);
  auto& kept = (*kernels)[function];
  if (kept == nullptr) kept = std::make_unique<Kernel>();
  kept->function = reinterpret_cast<void (*)(const void*, uint32_t, uint32_t)>(function);
  kept->argument_bytes = *static_cast<const size_t*>(bytes);
  *kernel = kept.get();
  return kSuccess;
}

int launch_kernel(const Kernel* kernel, const unsigned grid[3], const unsigned block[3], size_t shared_bytes,
                  void** arguments, const std::shared_ptr<Stream>& stream) {
  if (kernel == nullptr || arguments == nullptr || arguments[0] == nullptr) return kInvalidValue;
  if (stream == nullptr) return kInvalidHandle;
  const unsigned blocks = grid[0] * grid[1] * grid[2], threads = block[0] * block[1] * block[2];
  if (blocks == 0 || threads == 0 || threads > 1024) return kInvalidValue;
  const BlockShape shape{threads, shared_bytes};
  if (blocks > kMostBlocks || resident_blocks(shape) == 0 || fault_strikes("launch")) return kOutOfResources;
  const bool breaks = fault_strikes("fault");
  const char* const bytes = static_cast<const char*>(arguments[0]);
  std::vector<char> argument(bytes, bytes + kernel->argument_bytes);
  return enqueue(stream, {nullptr, [=, gpu = stream->gpu, argument = std::move(argument)]() -> int {
                            if (breaks) return kIllegalAddress;
                            const Opened memory;
                            run_blocks(gpu, shape, blocks,
                                       [&](unsigned one) { kernel->function(argument.data(), one, blocks); });
                            return kSuccess;
                          }});
}

}  // namespace fake
