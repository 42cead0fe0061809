// Finds the OpenMP runtime among the libraries of this process, by its symbols.
#include "runtime/threads/OpenMp.h"
#include "runtime/Forks.h"
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <map>
#include <mutex>
#include <string>
#include <vector>

using namespace tw;

namespace {
struct Loaded {
  std::vector<std::string> paths;
  unsigned long long numLoads = 0;
};

/// torch's `at::get_num_threads`.
using AskNumThreads = int (*)();

/// The findings when `numLoads` libraries had been loaded. Entries are never freed: there are as
/// many as the process has runtimes, and a launch may be using one.
struct Search {
  std::mutex mutex; // guards `found`, and one search at a time
  std::atomic<unsigned long long> numLoads = 0;
  std::atomic<const OpenMp *> latest = nullptr;
  std::atomic<AskNumThreads> askTorch = nullptr;
  std::map<void *, OpenMp> found; // by the address of `parallel`
};
} // namespace

static int collectLoaded(dl_phdr_info *object, size_t, void *context) {
  auto &loaded = *static_cast<Loaded *>(context);
  loaded.numLoads = object->dlpi_adds;
  if (object->dlpi_name && *object->dlpi_name)
    loaded.paths.push_back(object->dlpi_name);
  return 0;
}

static int readNumLoads(dl_phdr_info *object, size_t, void *context) {
  *static_cast<unsigned long long *>(context) = object->dlpi_adds;
  return 1; // the first object says it
}

/// Only objects of this kind of name define the functions; asking others follows what they need.
static bool mayBeRuntime(const std::string &path) {
  std::string name = path.substr(path.find_last_of('/') + 1);
  return name.find("gomp") != std::string::npos || name.find("libomp") != std::string::npos ||
         name.find("libiomp") != std::string::npos;
}

template <typename Function> static bool resolve(void *library, const char *name, Function &to) {
  to = reinterpret_cast<Function>(dlsym(library, name));
  return to != nullptr;
}

static bool resolveAll(void *library, OpenMp &runtime) {
  return resolve(library, "GOMP_parallel", runtime.parallel) &&
         resolve(library, "omp_get_thread_num", runtime.threadNumber) &&
         resolve(library, "omp_get_max_threads", runtime.maxThreads) &&
         resolve(library, "omp_in_parallel", runtime.isInParallel);
}

/// How many of the loaded libraries call this `parallel`.
static int countUsers(const Loaded &loaded, void *parallel) {
  int users = 0;
  for (const std::string &path : loaded.paths) {
    void *library = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (!library)
      continue;
    users += dlsym(library, "GOMP_parallel") == parallel;
    dlclose(library);
  }
  return users;
}

/// Adds the runtimes among the loaded libraries and returns the one that most use.
static const OpenMp *choose(const Loaded &loaded, std::map<void *, OpenMp> &found) {
  for (const std::string &path : loaded.paths) {
    if (!mayBeRuntime(path))
      continue;
    OpenMp runtime;
    void *library = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    bool isNew = library && resolveAll(library, runtime) &&
                 found.emplace(reinterpret_cast<void *>(runtime.parallel), runtime).second;
    if (library && !isNew)
      dlclose(library); // a new one keeps its handle, so that it is not unloaded
  }
  // One that was loaded for all (or before all, by LD_PRELOAD) is whom every library calls.
  if (auto global = found.find(dlsym(RTLD_DEFAULT, "GOMP_parallel")); global != found.end())
    return &global->second;
  const OpenMp *best = nullptr;
  int mostUsers = -1;
  for (auto &[parallel, runtime] : found) {
    int users = found.size() > 1 ? countUsers(loaded, parallel) : 0;
    if (users > mostUsers)
      best = &runtime;
    mostUsers = std::max(mostUsers, users);
  }
  return best;
}

static AskNumThreads findTorch(const Loaded &loaded) {
  for (const std::string &path : loaded.paths) {
    if (path.find("libtorch_cpu.") == std::string::npos)
      continue;
    void *library = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    AskNumThreads ask = nullptr;
    if (library && resolve(library, "_ZN2at15get_num_threadsEv", ask))
      return ask; // the handle is kept, so that it is not unloaded
    if (library)
      dlclose(library);
  }
  return nullptr;
}

static Search &search() {
  static Search *search = new Search; // threads may be inside when the process ends
  return *search;
}

/// Made when this code is loaded: see Forks.cpp.
[[maybe_unused]] static const Search &madeAtLoad = search();

/// Returns true if this process came from fork() without exec: another thread's locks and threads
/// may be gone. The kernel says so of the first thread (PF_FORKNOEXEC of `flags`, man 5
/// proc_pid_stat).
static bool isForkedChild() {
  constexpr unsigned kForkedNoExec = 0x40;
  FILE *file = fopen("/proc/self/stat", "r");
  if (!file)
    return true;
  char text[1024] = {};
  size_t length = fread(text, 1, sizeof(text) - 1, file);
  fclose(file);
  text[length] = 0;
  const char *behindName = strrchr(text, ')'); // the name may hold anything
  unsigned flags = 0;
  bool isRead = behindName && sscanf(behindName + 1, " %*c %*d %*d %*d %*d %*d %u", &flags) == 1;
  return !isRead || flags & kForkedNoExec;
}

bool tw::hasOpenMpTeams() {
  static const bool cameFromFork = isForkedChild();
  return !cameFromFork && forkCount() == 0;
}

const OpenMp *tw::findOpenMp() {
  Search &state = search();
  if (forkCount() != 0 && state.numLoads.load(std::memory_order_acquire) != 0)
    return state.latest.load(std::memory_order_relaxed);
  ForkShield shield; // no fork meanwhile: a child would find the loader's lock taken
  unsigned long long numLoads = 0;
  dl_iterate_phdr(readNumLoads, &numLoads);
  if (state.numLoads.load(std::memory_order_acquire) == numLoads)
    return state.latest.load(std::memory_order_relaxed);
  std::lock_guard lock(state.mutex);
  Loaded loaded;
  dl_iterate_phdr(collectLoaded, &loaded);
  if (!state.askTorch)
    state.askTorch = findTorch(loaded);
  state.latest.store(choose(loaded, state.found), std::memory_order_relaxed);
  state.numLoads.store(loaded.numLoads, std::memory_order_release);
  return state.latest.load(std::memory_order_relaxed);
}

int tw::threadsOfTeam(const OpenMp &runtime) {
  // torch.set_num_threads is for the runtime the number of one thread. torch hands it to another
  // thread when that runs its first operator or asks for the number, so it is asked, once.
  static thread_local AskNumThreads asked = nullptr;
  AskNumThreads ask = search().askTorch.load(std::memory_order_relaxed);
  if (ask != asked) {
    asked = ask;
    (void)ask();
  }
  return std::max(1, runtime.maxThreads());
}
