// Keeps signals from the C++ client's thread, so that they come to the threads of the program.
#pragma once

#include <csignal>

namespace gearshift::client::detail {

// Blocks all signals in this thread for as long as it lives; a thread that is started meanwhile
// blocks them for good. One that let them in would end a program that blocks SIGTERM in its own
// threads, to read it from a signalfd.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace gearshift::client::detail
