// The OpenMP runtime that other code of this process has loaded: its threads run our programs too.
#ifndef RUNTIME_THREADS_OPENMP_H
#define RUNTIME_THREADS_OPENMP_H

namespace tw {

/// Functions of an OpenMP runtime. libgomp has them, and libomp and libiomp5 for code made by GCC:
/// https://gcc.gnu.org/onlinedocs/libgomp/Implementing-PARALLEL-construct.html
struct OpenMp {
  /// Calls `body(data)` on every thread of a team, the caller among them, and returns when all have
  /// returned.
  void (*parallel)(void (*body)(void *), void *data, unsigned numThreads, unsigned flags);
  int (*threadNumber)(); // in the team; 0 is the caller of `parallel`
  int (*maxThreads)();   // of a team that this thread makes
  int (*isInParallel)(); // whether this thread is in a region that has several threads
};

/// The runtime, or null where none is loaded. What is found stays loaded. Where there are several,
/// the one that most of the loaded libraries use. Looks again when a library has been loaded, but
/// in a process that was forked not after its parent has looked: another thread of the parent may
/// have held the loader's lock, which then stays taken.
const OpenMp *findOpenMp();

/// Returns true if `parallel` can be called: not in a process that was forked, where the threads
/// that the runtime believes to have do not exist (libgomp waits for them for ever).
bool hasOpenMpTeams();

/// How many threads a team that this thread makes would have, at least 1.
int threadsOfTeam(const OpenMp &runtime);

} // namespace tw
#endif
