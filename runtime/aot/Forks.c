/* What a package forgets in a forked child, where no other thread is and locks may be anyone's. */
#include "runtime/aot/Tables.h"
#include <pthread.h>

static void tw_forget_locks(void) {
  pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;
  for (size_t maker = 0; maker < TW_NUM_MAKERS; ++maker)
    tw_all_gpus[maker].mutex = unlocked;
  tw_cl.mutex = unlocked;
  tw_parallel.mutex = unlocked;
  tw_forget_threads();
}

static void tw_add_fork_handler(void) { (void)pthread_atfork(NULL, NULL, tw_forget_locks); }

static void tw_watch_forks(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  (void)pthread_once(&once, tw_add_fork_handler);
}
