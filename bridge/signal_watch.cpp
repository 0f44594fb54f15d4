#include "bridge/signal_watch.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <stdexcept>
#include <string>

namespace gearshift {
namespace {

constexpr int kEchoMs = 1000;

sigset_t set_of(std::initializer_list<int> numbers) {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int number : numbers) ::sigaddset(&signals, number);
  return signals;
}

// The number of a signal that came, 0 where none did.
int next(int descriptor) {
  signalfd_siginfo information{};
  const ssize_t size = ::read(descriptor, &information, sizeof information);
  return size == sizeof information ? static_cast<int>(information.ssi_signo) : 0;
}

void end_by(int number) {
  std::signal(number, SIG_DFL);
  const sigset_t one = set_of({number});
  ::pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
  ::raise(number);
}

}  // namespace

SignalWatch::SignalWatch() {
  const sigset_t signals = set_of({SIGINT, SIGTERM, SIGHUP});
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signals_ = ::signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
  stop_ = ::eventfd(0, EFD_CLOEXEC);
  if (signals_ < 0 || stop_ < 0 || ::pipe2(come_, O_NONBLOCK | O_CLOEXEC) != 0) {
    const std::string why = std::strerror(errno);
    close_all();
    throw std::runtime_error("cannot wait for signals: " + why);
  }
  try {
    thread_ = std::thread(&SignalWatch::run, this);
  } catch (...) {
    close_all();
    throw;
  }
}

SignalWatch::~SignalWatch() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t put = ::write(stop_, &one, sizeof one);
  thread_.join();
  close_all();
}

void SignalWatch::close_all() {
  for (const int descriptor : {signals_, stop_, come_[0], come_[1]}) {
    if (descriptor >= 0) ::close(descriptor);
  }
}

int SignalWatch::take() {
  unsigned char number = 0;
  return ::read(come_[0], &number, 1) == 1 ? number : 0;
}

void SignalWatch::run() {
  bool asked = false;
  pollfd items[] = {{stop_, POLLIN, 0}, {signals_, POLLIN, 0}};
  for (;;) {
    ::poll(items, 2, -1);
    if (items[0].revents != 0) return;
    const int number = next(signals_);
    if (number == 0) continue;
    if (asked && number != SIGHUP) end_by(number);
    const auto byte = static_cast<unsigned char>(number);
    // Fails only with a full pipe, of signals that nobody has taken.
    [[maybe_unused]] const ssize_t put = ::write(come_[1], &byte, 1);
    if (number == SIGHUP) continue;
    asked = true;
    if (::poll(items, 1, kEchoMs) > 0) return;
    while (next(signals_) != 0) {
    }
  }
}

}  // namespace gearshift
