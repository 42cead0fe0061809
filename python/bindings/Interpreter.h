// The interpreter's lock, let go and taken again by threads that may outlive the interpreter.
#ifndef PYTHON_BINDINGS_INTERPRETER_H
#define PYTHON_BINDINGS_INTERPRETER_H
#include <pybind11/pybind11.h>
#include <unistd.h>

namespace tw::python {

/// When the interpreter ends, CPython stops a thread that asks for its lock by unwinding its stack,
/// which C++ code that cannot throw answers with an abort. Such a thread sleeps here for the rest
/// of the process instead.
template <typename Take> auto takeLockOrSleep(Take take) {
  try {
    return take();
  } catch (...) { // pthread_exit: Python's functions throw nothing else
    while (true)
      ::pause();
  }
}

/// Sleeps for good when the process ends and this thread is not the one that ends it.
void sleepIfClosed();

/// Runs `action`, which must not throw, without the interpreter's lock.
template <typename Action> void withoutLock(Action action) {
  PyThreadState *state = PyEval_SaveThread();
  action();
  sleepIfClosed();
  takeLockOrSleep([&] { PyEval_RestoreThread(state); });
}

/// Holds the interpreter's lock on a thread that may have let it go.
class InterpreterLock {
public:
  InterpreterLock() : state(takeLockOrSleep([] { return PyGILState_Ensure(); })) {}
  ~InterpreterLock() { PyGILState_Release(state); }
  InterpreterLock(const InterpreterLock &) = delete;

private:
  PyGILState_STATE state;
};

} // namespace tw::python
#endif
