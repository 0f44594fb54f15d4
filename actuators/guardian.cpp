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
#include <fstream>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include "actuators/board_actuator.h"
#include "actuators/knob_journal.h"
#include "actuators/step_bar.h"
#include "controller/board.h"

namespace gearshift {

struct Guardian::Shared {
  std::atomic<std::uint64_t> beats{0};
  std::atomic<std::uint32_t> steps{0};
  std::atomic<bool> saved{false};
};

namespace {

constexpr int kLooks = 10;
constexpr int kEndTries = 5000;  // of a millisecond
constexpr Duration kKilled = std::chrono::milliseconds(500);
constexpr char kGoodbye = 'q';
constexpr char kHandOver = 'h';

[[noreturn]] void fail_guardian(const char* what, const char* way_out) {
  throw std::runtime_error(std::string("guardian process: ") + what + ": " + std::strerror(errno) +
                           "; " + way_out);
}

// Where a guardian cannot be made: a process that makes many runs out of descriptors else.
void close_both(const int (&ends)[2]) {
  const int error = errno;
  for (const int end : ends) close(end);
  errno = error;
}

void say(const GuardianOptions& options, const std::string& text) {
  if (options.tell != nullptr) options.tell(text);
}

// Whoever puts a journal back has its lock first, and leaves a number there.
bool another_had_it(const std::filesystem::path& journal, pid_t daemon) {
  std::ifstream lock(journal.string() + ".lock");
  pid_t holder = 0;
  return (lock >> holder) && holder != daemon;
}

// What the daemon could not put back any more. Another daemon that has the lock has done it.
void put_back(Sysroot& root, const GuardianOptions& options, const std::string& why, bool saved,
              pid_t daemon) {
  try {
    if (!std::filesystem::exists(options.journal)) {
      if (!saved || another_had_it(options.journal, daemon)) return;
      say(options, why + "and somebody has removed " + options.journal.string() +
                       ", where its knobs were saved: they stay as they are set; set them by hand, "
                       "or restart the board");
      return;
    }
    const RestoreReport report = restore_from_journal(root, options.journal);
    say(options, why + std::to_string(report.restored.size()) + " files put back, " +
                     std::to_string(report.failed.size()) + " failed");
    for (const std::string& failed : report.failed) say(options, "FAILED " + failed);
    if (!report.unremoved.empty()) say(options, report.unremoved);
  } catch (const BusyError&) {
  } catch (const std::exception& error) {
    say(options, why + "its knobs are not put back: " + error.what() + "; run `gearshift restore`");
  }
}

void step_in(const BoardDescription& board, Sysroot& root, const Clock& clock,
             const GuardianOptions& options, const std::atomic<bool>& saved) {
  try {
    const auto failure = step_to_safe_mode(board, root, clock, options.journal);
    if (!failure && saved && !std::filesystem::exists(options.journal)) {
      say(options, "the loop stands still, and no safe mode is set: somebody has removed " +
                       options.journal.string() + ", where the knobs were saved");
    }
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

enum class Lifeline : std::uint8_t { quiet, noise, goodbye, handed_over, cut };

// A message is read as a whole: a stray line with the letter of a goodbye in it is none.
Lifeline listen(int descriptor, int timeout_ms) {
  pollfd lifeline{.fd = descriptor, .events = POLLIN, .revents = 0};
  if (poll(&lifeline, 1, timeout_ms) <= 0) return Lifeline::quiet;
  std::array<char, 2> word{};
  const ssize_t size = read(descriptor, word.data(), word.size());
  if (size <= 0) return Lifeline::cut;
  if (size == 1 && word[0] == kHandOver) return Lifeline::handed_over;
  return size == 1 && word[0] == kGoodbye ? Lifeline::goodbye : Lifeline::noise;
}

// Signals that end a daemon, and are no matter of its guardian's.
sigset_t signals_to_end() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, signal);
  return set;
}

// A bar may have come up since the step began, and a knob's write may have taken long.
class BarredActuator : public Actuator {
 public:
  BarredActuator(std::unique_ptr<Actuator> actuator, const Step& step)
      : actuator_(std::move(actuator)), step_(step) {}

  const KnobSpace& knobs() const override { return actuator_->knobs(); }
  Progress write(std::size_t knob, std::int64_t value) override {
    return step_.allowed() ? actuator_->write(knob, value) : Progress::away;
  }
  std::optional<std::int64_t> read(std::size_t knob) override { return actuator_->read(knob); }
  void manage(std::int32_t pid, Kind kind) override { actuator_->manage(pid, kind); }
  void restore() override { actuator_->restore(); }

 private:
  std::unique_ptr<Actuator> actuator_;
  const Step& step_;
};

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
  Board stepped(std::make_unique<BarredActuator>(std::move(actuator), step), {}, traits);
  stepped.begin(stepped.safe(), clock.now());
  while (stepped.advance(clock.now()) == ApplyState::applying) {
    if (!step.allowed()) return std::nullopt;
  }
  return std::string(stepped.failure());
}

Guardian::Guardian(const BoardDescription& board, Sysroot& root, const Clock& clock,
                   const GuardianOptions& options)
    : farewell_(options.farewell) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    fail_guardian("no socket pair", "give this process more descriptors (ulimit -n, LimitNOFILE=)");
  }
  void* page =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) {
    close_both(ends);
    fail_guardian("no shared page", "free memory of the system, or raise MemoryMax= of its unit");
  }
  shared_ = new (page) Shared;
  const pid_t daemon = getpid();
  const sigset_t spared = signals_to_end();
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &spared, &before);  // before it is there to be hit
  child_ = fork();
  const int error = errno;
  if (child_ != 0) pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (child_ > 0) {
    close(ends[0]);
    lifeline_ = ends[1];
    return;
  }
  if (child_ < 0) {
    munmap(page, sizeof(Shared));
    close_both(ends);
    errno = error;
    fail_guardian(
        "cannot fork",
        "free processes or memory of the system, or raise TasksMax= of its unit and ulimit -u");
  }
  close(ends[1]);
  for (const int descriptor : options.closed) close(descriptor);
  watch(board, root, clock, options, ends[0], daemon);
}

void Guardian::watch(const BoardDescription& board, Sysroot& root, const Clock& clock,
                     const GuardianOptions& options, int descriptor, pid_t daemon) {
  setsid();  // what the terminal or a script kills with the daemon's group is not killed with it
  prctl(PR_SET_NAME, kGuardianName);
  std::signal(SIGPIPE, SIG_IGN);  // nobody has to read what is told
  StallWatch stall(kLooks);
  const auto look_ms = static_cast<int>(
      std::chrono::duration_cast<std::chrono::milliseconds>(options.patience).count() / kLooks);
  while (true) {
    const Lifeline lifeline = listen(descriptor, look_ms);
    if (lifeline == Lifeline::cut || lifeline == Lifeline::handed_over) {
      const bool cut = lifeline == Lifeline::cut;
      if (cut) await_end(daemon);
      put_back(root, options,
               options.watched + std::string(cut ? " is gone; " : " left it to this process; "),
               cut && shared_->saved, daemon);
    }
    if (lifeline == Lifeline::noise) continue;
    if (lifeline != Lifeline::quiet) _exit(0);
    if (!stall.look(shared_->beats.load(std::memory_order_relaxed))) continue;
    shared_->steps.fetch_add(1, std::memory_order_relaxed);
    step_in(board, root, clock, options, shared_->saved);
  }
}

Guardian::~Guardian() {
  if (lifeline_ >= 0) {
    // It may have been killed, or be stopped before the end of a lifeline full of noise.
    const bool told = send(lifeline_, &kGoodbye, 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
    close(lifeline_);
    wake();  // once it will find that word first
    if (!told || !ends_within(farewell_)) {
      if (child_ > 0) kill(child_, SIGKILL);
      ends_within(kKilled);
    }
  }
  state();  // of one that was left with the knobs and has ended, nothing else is kept
  munmap(shared_, sizeof(Shared));
}

bool Guardian::ends_within(Duration patience) {
  const auto most = std::chrono::duration_cast<std::chrono::milliseconds>(patience).count();
  for (auto waits = most; state() != GuardianState::killed; --waits) {
    if (waits <= 0) return false;
    poll(nullptr, 0, 1);
  }
  return true;
}

void Guardian::hand_over() {
  send(lifeline_, &kHandOver, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
  close(lifeline_);  // where it was not told, this tells it
  lifeline_ = -1;
  wake();
}

void Guardian::wake() const {
  if (child_ > 0) kill(child_, SIGCONT);
}

void Guardian::beat() { shared_->beats.fetch_add(1, std::memory_order_relaxed); }

std::atomic<bool>& Guardian::saved() const { return shared_->saved; }

GuardianState Guardian::state() {
  while (child_ > 0) {
    int status = 0;
    const pid_t changed = waitpid(child_, &status, WNOHANG | WUNTRACED | WCONTINUED);
    if (changed == 0) break;
    if (changed == child_ && WIFSTOPPED(status)) {
      state_ = GuardianState::stopped;
    } else if (changed == child_ && WIFCONTINUED(status)) {
      state_ = GuardianState::watches;
    } else {  // also where the kernel reaps it, for whoever started this process ignores SIGCHLD
      state_ = GuardianState::killed;
      child_ = -1;
    }
  }
  return state_;
}

std::string Guardian::take_news() {
  const GuardianState now = state();
  if (now == std::exchange(told_, now) || now == GuardianState::watches) return {};
  const std::string what = now == GuardianState::killed ? "was killed" : "is stopped";
  return "its guardian process " + what +
         "; if this process is killed too, `gearshift restore` puts the knobs back";
}

std::uint32_t Guardian::steps() const { return shared_->steps.load(std::memory_order_relaxed); }

}  // namespace gearshift
