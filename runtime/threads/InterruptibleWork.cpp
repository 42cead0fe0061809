// Long work that an interrupt does not wait for: it goes on alone.
#include "runtime/threads/InterruptibleWork.h"
#include "runtime/Forks.h"
#include "runtime/Futex.h"
#include "runtime/Interrupts.h"
#include "runtime/threads/WorkerThread.h"
#include <memory>
#include <mutex>
#include <signal.h>
#include <vector>

using namespace tw;

namespace {
/// The state that the thread that calls and the one that works share.
struct Job {
  enum State : uint32_t { Running, Asking, Failed, Succeeded };

  std::function<bool(const Answer &)> work;
  std::string refusal;
  std::string text; // the question while `state` is Asking, then its answer
  std::atomic<uint32_t> state = Running;
  std::atomic<bool> isAbandoned = false;

  bool isDone() const { return state == Failed || state == Succeeded; }
  void become(State next) {
    state = next;
    wakeAll(state);
  }
  std::string ask(const std::string &question);
};

/// A thread that does one job after another, and sleeps in between. It lives as long as the
/// process, since what compilers keep for a thread is worth keeping.
class Worker {
public:
  bool start(const sigset_t &signals);
  void give(std::shared_ptr<Job> next);

private:
  static void *run(void *self);
  void work();

  WorkerThread thread{/*leastBytes=*/16 << 20};
  sigset_t signals = {};
  std::shared_ptr<Job> job; // written while `hasJob` is 0
  std::atomic<uint32_t> hasJob = 0;
};

/// Those that sleep.
struct IdleWorkers {
  std::mutex mutex; // guards `workers`; held for a few instructions
  std::vector<Worker *> workers;
  const unsigned forkedAt = forkCount();
};
} // namespace

/// Between two looks whether the caller has given up, or was interrupted.
static constexpr int kWaitMilliseconds = 50;

/// A forked child gets a list of its own: it has none of the threads, and its parent's lock may
/// have been taken.
static IdleWorkers &idleWorkers() {
  static std::atomic<IdleWorkers *> current = new IdleWorkers;
  IdleWorkers *seen = current;
  if (seen->forkedAt != forkCount())
    current.compare_exchange_strong(seen, new IdleWorkers);
  return *current;
}

std::string Job::ask(const std::string &question) {
  ForkShieldPause pause; // the caller runs Python meanwhile
  text = question;
  become(Asking);
  while (state == Asking && !isAbandoned)
    sleepWhile(state, Asking, kWaitMilliseconds);
  return isAbandoned ? refusal : std::move(text);
}

bool Worker::start(const sigset_t &callersSignals) {
  signals = callersSignals;
  return thread.start(&Worker::run, this);
}

void *Worker::run(void *self) {
  // The caller's, unlike other threads of ours: faults of the compiler are caught as signals, and
  // the programs that it starts inherit the mask.
  (void)pthread_sigmask(SIG_SETMASK, &static_cast<Worker *>(self)->signals, nullptr);
  static_cast<Worker *>(self)->work();
  return nullptr;
}

void Worker::give(std::shared_ptr<Job> next) {
  job = std::move(next);
  hasJob = 1;
  wakeAll(hasJob);
}

void Worker::work() {
  while (true) {
    while (!hasJob)
      sleepWhile(hasJob, 0, 3'600'000);
    std::shared_ptr<Job> current = std::move(job);
    hasJob = 0;
    bool hasSucceeded;
    {
      ForkShield shield;
      InterruptsOf caller(current->isAbandoned);
      hasSucceeded =
          current->work([&](const std::string &question) { return current->ask(question); });
      current->work = nullptr; // what it owns goes before the process may end
      IdleWorkers &idle = idleWorkers();
      std::lock_guard lock(idle.mutex);
      idle.workers.push_back(this);
    }
    current->become(hasSucceeded ? Job::Succeeded : Job::Failed);
  }
}

/// Returns a thread that has nothing to do; null where none is to be had.
static Worker *takeWorker() {
  IdleWorkers &idle = idleWorkers();
  {
    std::lock_guard lock(idle.mutex);
    if (!idle.workers.empty()) {
      Worker *last = idle.workers.back();
      idle.workers.pop_back();
      return last;
    }
  }
  sigset_t signals;
  (void)pthread_sigmask(SIG_SETMASK, nullptr, &signals);
  auto made = std::make_unique<Worker>();
  return made->start(signals) ? made.release() : nullptr;
}

/// Answers the job's questions until it is done; false when this thread does not wait any longer.
static bool awaitJob(Job &job, const Answer &answer) {
  ForkShieldPause pause;
  const unsigned forkedAt = forkCount();
  InterruptClock interrupts;
  while (!job.isDone()) {
    if (job.state == Job::Asking) {
      job.text = answer(job.text);
      if (forkCount() != forkedAt)
        return false; // a child that the answer has forked off: the work is its parent's
      job.become(Job::Running);
    }
    sleepWhile(job.state, Job::Running, kWaitMilliseconds);
    if (!job.isDone() && interrupts.ask())
      return false;
  }
  // What the terminal sends goes to the programs that the work runs, too, which then fail.
  return job.state == Job::Succeeded || !isInterrupted();
}

bool tw::runInterruptibly(std::function<bool(const Answer &)> work, const Answer &answer,
                          const std::string &refusal) {
  Worker *worker = receivesInterrupts() ? takeWorker() : nullptr;
  if (!worker) {
    (void)work([&answer](const std::string &question) {
      ForkShieldPause pause;
      return answer(question);
    });
    return true;
  }
  auto job = std::make_shared<Job>();
  job->work = std::move(work);
  job->refusal = refusal;
  worker->give(job);
  if (awaitJob(*job, answer))
    return true;
  job->isAbandoned = true;
  wakeAll(job->state);
  return false;
}
