// Threads with stacks of their own.
#include "runtime/threads/WorkerThread.h"
#include <algorithm>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace tw;

static size_t guardBytes() { return size_t(sysconf(_SC_PAGESIZE)); }

WorkerThread::WorkerThread(size_t leastBytes) {
  pthread_attr_t usual;
  (void)pthread_attr_init(&usual);
  (void)pthread_attr_getstacksize(&usual, &bytes);
  (void)pthread_attr_destroy(&usual);
  bytes = std::max(bytes, leastBytes);
  memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
  if (memory != MAP_FAILED)
    (void)mprotect(memory, guardBytes(), PROT_NONE); // stacks grow down
}

WorkerThread::~WorkerThread() {
  if (memory != MAP_FAILED)
    (void)munmap(memory, bytes);
}

bool WorkerThread::start(void *(*body)(void *), void *argument) {
  if (memory == MAP_FAILED)
    return false;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_attr_t attributes;
  (void)pthread_attr_init(&attributes);
  int failure = pthread_attr_setstack(&attributes, static_cast<char *>(memory) + guardBytes(),
                                      bytes - guardBytes());
  if (!failure)
    failure = pthread_create(&thread, &attributes, body, argument);
  (void)pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return !failure;
}
