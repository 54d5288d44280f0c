// Python's lock, given up while native code works.
//
// When Python ends, it ends every other thread that wants the lock again; before Python 3.14 by
// pthread_exit, which in glibc unwinds the frames of C++ and so ends the whole process by SIGABRT.
// Such a thread, a daemon of the caller, stays where it is until the process is gone.
#pragma once

#include <Python.h>
#include <unistd.h>

namespace crfkit {

class Released {
 public:
  Released() : state_(PyEval_SaveThread()) {}
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;
  ~Released() {
    try {
      PyEval_RestoreThread(state_);
    } catch (...) {  // no C++ exception: the thread is being ended
      for (;;) pause();
    }
  }

 private:
  PyThreadState* state_;
};

}  // namespace crfkit
