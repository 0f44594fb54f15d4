#include "actuators/guardian.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>

#include "actuators/board_actuator.h"
#include "actuators/knob_journal.h"
#include "actuators/step_bar.h"
#include "controller/board.h"

namespace gearshift {

struct Guardian::Shared {
  std::atomic<std::uint64_t> beats{0};
  std::atomic<std::uint32_t> steps{0};
};

namespace {

constexpr int kLooks = 10;
constexpr int kEndTries = 5000;  // of a millisecond
constexpr char kGoodbye = 'q';

[[noreturn]] void fail(const char* what) {
  throw std::runtime_error(std::string("guardian process: ") + what + ": " + std::strerror(errno));
}

void say(const GuardianOptions& options, const std::string& text) {
  if (options.tell != nullptr) options.tell(text);
}

// What the daemon could not put back any more. Another daemon that has the lock has done it.
void put_back(Sysroot& root, const GuardianOptions& options) {
  try {
    if (!std::filesystem::exists(options.journal)) return;
    const RestoreReport report = restore_from_journal(root, options.journal);
    say(options, options.watched + std::string(" is gone; ") +
                     std::to_string(report.restored.size()) + " files put back, " +
                     std::to_string(report.failed.size()) + " failed");
    for (const std::string& failed : report.failed) say(options, "FAILED " + failed);
    if (!report.unremoved.empty()) say(options, report.unremoved);
  } catch (const BusyError&) {
  } catch (const std::exception& error) {
    say(options, options.watched + std::string(" is gone and its knobs are not put back: ") +
                     error.what() + "; run `gearshift restore`");
  }
}

void step_in(const BoardDescription& board, Sysroot& root, const Clock& clock,
             const GuardianOptions& options) {
  try {
    const auto failure = step_to_safe_mode(board, root, clock, options.journal);
    if (!failure) return;
    say(options, "the loop stands still; " +
                     (failure->empty() ? "stepped to the safe mode until it goes on" : *failure));
  } catch (const std::exception& error) {
    say(options,
        std::string("the loop stands still, and the safe mode cannot be set: ") + error.what());
  }
}

// A process that dies closes the lifeline a moment before the lock of its journal.
void await_end(pid_t daemon) {
  for (int tries = 0; getppid() == daemon && tries < kEndTries; ++tries) poll(nullptr, 0, 1);
}

enum class Lifeline : std::uint8_t { quiet, noise, goodbye, cut };

// A message is read as a whole: a stray line with the letter of a goodbye in it is none.
Lifeline listen(int descriptor, int timeout_ms) {
  pollfd lifeline{.fd = descriptor, .events = POLLIN, .revents = 0};
  if (poll(&lifeline, 1, timeout_ms) <= 0) return Lifeline::quiet;
  std::array<char, 2> word{};
  const ssize_t size = read(descriptor, word.data(), word.size());
  if (size <= 0) return Lifeline::cut;
  return size == 1 && word[0] == kGoodbye ? Lifeline::goodbye : Lifeline::noise;
}

}  // namespace

bool StallWatch::look(std::uint64_t beats) {
  if (beats != beats_) {
    beats_ = beats;
    unchanged_ = 0;
    return false;
  }
  return beats_ > 0 && ++unchanged_ == patience_;
}

std::optional<std::string> step_to_safe_mode(const BoardDescription& board, Sysroot& root,
                                             const Clock& clock,
                                             const std::filesystem::path& journal) {
  const Step step(journal);
  if (!step.allowed()) return std::nullopt;
  auto actuator = std::make_unique<BoardActuator>(
      board, root, BoardActuatorOptions{.journal = journal, .use = JournalUse::beside});
  if (!actuator->writable()) {
    const std::vector<AbsentKnob>& absent = actuator->absent();
    return "no knob can be set" + (absent.empty() ? "" : ": " + absent.front().reason);
  }
  const KnobSpace& knobs = actuator->knobs();
  BoardTraits traits;
  traits.apply_timeout = board.apply_timeout;
  traits.safe = safe_mode(board, knobs, modes_by_power(board, knobs));
  Board stepped(std::move(actuator), {}, traits);
  stepped.begin(stepped.safe(), clock.now());
  for (ApplyState state = ApplyState::applying; state == ApplyState::applying;) {
    if (!step.allowed()) return std::nullopt;
    state = stepped.advance(clock.now());
  }
  return std::string(stepped.failure());
}

Guardian::Guardian(const BoardDescription& board, Sysroot& root, const Clock& clock,
                   const GuardianOptions& options) {
  void* page =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) fail("no shared page");
  shared_ = new (page) Shared;
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) fail("no socket pair");
  const pid_t daemon = getpid();
  child_ = fork();
  if (child_ < 0) fail("cannot fork");
  if (child_ > 0) {
    close(ends[0]);
    lifeline_ = ends[1];
    return;
  }
  close(ends[1]);
  for (const int descriptor : options.closed) close(descriptor);
  setsid();  // what the terminal or a script kills with the daemon's group is not killed with it
  prctl(PR_SET_NAME, "gs-guardian");
  std::signal(SIGPIPE, SIG_IGN);  // nobody has to read what is told
  StallWatch watch(kLooks);
  const auto look_ms = static_cast<int>(
      std::chrono::duration_cast<std::chrono::milliseconds>(options.patience).count() / kLooks);
  while (true) {
    const Lifeline lifeline = listen(ends[0], look_ms);
    if (lifeline == Lifeline::cut) {
      await_end(daemon);
      put_back(root, options);
    }
    if (lifeline == Lifeline::noise) continue;
    if (lifeline != Lifeline::quiet) _exit(0);
    if (!watch.look(shared_->beats.load(std::memory_order_relaxed))) continue;
    shared_->steps.fetch_add(1, std::memory_order_relaxed);
    step_in(board, root, clock, options);
  }
}

Guardian::~Guardian() {
  send(lifeline_, &kGoodbye, 1, MSG_NOSIGNAL);  // it may have been killed
  close(lifeline_);
  if (child_ > 0) waitpid(child_, nullptr, 0);
  munmap(shared_, sizeof(Shared));
}

void Guardian::beat() { shared_->beats.fetch_add(1, std::memory_order_relaxed); }

bool Guardian::alive() {
  if (child_ > 0 && waitpid(child_, nullptr, WNOHANG) == child_) child_ = -1;
  return child_ > 0;
}

std::uint32_t Guardian::steps() const { return shared_->steps.load(std::memory_order_relaxed); }

}  // namespace gearshift
