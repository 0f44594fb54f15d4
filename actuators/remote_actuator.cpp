#include "actuators/remote_actuator.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <utility>

#include "actuators/knob_journal.h"
#include "actuators/private_socket.h"

namespace gearshift {
namespace {

constexpr Duration kMostGreeting = std::chrono::seconds(10);
constexpr Duration kMostRestoring = std::chrono::seconds(15);
constexpr Duration kMostAnswer = std::chrono::seconds(5);
// Urgent events bring ticks within microseconds of each other.
constexpr Duration kBeatPace = std::chrono::milliseconds(50);
constexpr Duration kConnectPace = std::chrono::seconds(1);
// It answers a beat once a second at the least. Beats are counted, not seconds: a machine that was
// suspended made nobody deaf.
constexpr int kDeafAfterBeats = 60;
// A write does not wait for as long, but for more than the beats of a second: it must not run out
// of its time (Board) meanwhile.
constexpr int kAwayAfterBeats = 25;

int poll_for(int descriptor, Duration most) {
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(most).count();
  pollfd item{.fd = descriptor, .events = POLLIN, .revents = 0};
  return poll(&item, 1, static_cast<int>(std::max<std::int64_t>(0, ms)));
}

bool same_knobs(const KnobSpace& left, const KnobSpace& right) {
  return std::equal(left.knobs.begin(), left.knobs.end(), right.knobs.begin(), right.knobs.end(),
                    [](const Knob& a, const Knob& b) {
                      return a.name == b.name && a.unit == b.unit && a.knob_class == b.knob_class &&
                             a.values == b.values && a.follows_cores == b.follows_cores;
                    });
}

std::string described(const std::filesystem::path& socket) { return "helper " + socket.string(); }

std::string way_in(int error) {
  if (error == EACCES) return "; it belongs to another user (--user of gearshift helper)";
  return "; start it as root: gearshift helper --socket PATH --user NAME";
}

}  // namespace

RemoteActuator::RemoteActuator(std::filesystem::path socket, const std::string& board,
                               const Clock& clock)
    : socket_(std::move(socket)), clock_(clock), events_(epoll_create1(EPOLL_CLOEXEC)) {
  if (events_ < 0) throw std::runtime_error(std::string("epoll: ") + std::strerror(errno));
  bytes_.reserve(kMaxAnswerBytes + 4);
  now_ = clock.now();
  try {
    if (!connect_anew()) throw HelperError(lost_why_);
    const Time end = now_ + kMostGreeting;
    while (link_ == Link::greeting && now_ < end) await(end - now_);
    if (answer_.type == KnobAnswerType::busy) throw BusyError(lost_why_);
    if (link_ == Link::greeting) throw HelperError(described(socket_) + ": says nothing for 10 s");
    if (link_ == Link::lost) throw std::runtime_error(lost_why_);
    if (welcome_.board != board) {
      throw std::runtime_error(described(socket_) + " sets the board " + welcome_.board +
                               ", and this process reads " + board +
                               "; give both the same --board and --sysroot");
    }
  } catch (...) {
    if (connection_ >= 0) close(connection_);
    close(events_);
    throw;
  }
  complaint_.clear();
}

RemoteActuator::~RemoteActuator() {
  if (connection_ >= 0) close(connection_);
  close(events_);
  for (const Managed& managed : managed_) {
    if (managed.process >= 0) close(managed.process);
  }
}

Progress RemoteActuator::write(std::size_t knob, std::int64_t value) {
  assert(knob < welcome_.knobs.size());
  take_answers();
  if (link_ != Link::ready || unheard_beats_ > kAwayAfterBeats) return Progress::away;
  if (!write_ || write_->knob != knob || write_->value != value) {
    if (sent_count_ == kMostUnanswered) return not_yet();
    if (!send(KnobVerb::write, static_cast<std::uint8_t>(knob), value)) return not_yet();
    write_ = Write{.sequence = sequence_, .knob = knob, .value = value};
    sent_[sent_count_++] = {sequence_, knob};
    return not_yet();
  }
  if (!write_->answer) return not_yet();
  // The next call asks anew: it comes with the next tick, as it does where the write is our own.
  const Write answered = *std::exchange(write_, std::nullopt);
  if (answered.answer == KnobAnswerType::refused) throw KnobError(answered.text);
  if (answered.answer == KnobAnswerType::away) return Progress::away;
  return answered.answer == KnobAnswerType::done ? Progress::done : Progress::more;
}

std::optional<std::int64_t> RemoteActuator::read(std::size_t knob) {
  assert(knob < welcome_.knobs.size());
  if (link_ != Link::ready || unheard_beats_ > kDeafAfterBeats || unanswered(knob)) {
    return std::nullopt;
  }
  return values_[knob];
}

void RemoteActuator::manage(std::int32_t pid, Kind kind) {
  Managed& managed = managed_[index(kind)];
  if (managed.process >= 0) close(managed.process);
  managed = {.pid = pid, .process = static_cast<int>(syscall(SYS_pidfd_open, pid, 0))};
  if (link_ == Link::ready && send(KnobVerb::manage, static_cast<std::uint8_t>(kind), pid)) return;
  throw KnobError(pid == 0 ? "the workload that has left is not let go: " + lost_why_
                           : "process " + std::to_string(pid) + " is not managed: " + lost_why_);
}

void RemoteActuator::manage_again() {
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    const Managed& managed = managed_[kind];
    const bool runs = managed.process >= 0 && poll_for(managed.process, Duration::zero()) == 0;
    if (runs) send(KnobVerb::manage, static_cast<std::uint8_t>(kind), managed.pid);
  }
}

void RemoteActuator::restore() {
  if (link_ != Link::ready || !send(KnobVerb::restore, 0, 0)) {
    throw KnobError("not restored by this process: " + lost_why_);
  }
  const KnobAnswer answer = wait_for_answer(kMostRestoring);
  if (answer.type == KnobAnswerType::refused) throw KnobError(answer.text);
}

FanPin RemoteActuator::pin_fan(Sysroot& root) {
  if (link_ != Link::ready || !send(KnobVerb::pin_fan, 0, 0)) return {root, lost_why_};
  const std::string text = wait_for_answer(kMostAnswer).text;
  const std::size_t end = std::min(text.find('\n'), text.size());
  return {root, text.substr(0, end), text.substr(std::min(end + 1, text.size()))};
}

void RemoteActuator::keep() {
  if (link_ == Link::ready && send(KnobVerb::keep, 0, 0)) wait_for_answer(kMostAnswer);
}

void RemoteActuator::beat(Time now) {
  now_ = now;
  take_answers();
  if (link_ == Link::lost && now - tried_ >= kConnectPace) connect_anew();
  if (link_ != Link::ready || now - beaten_ < kBeatPace) return;
  if (unheard_beats_ > kDeafAfterBeats && lost_why_.empty()) {
    lost_why_ = described(socket_) + ": says nothing any more; no knob can be set";
    complaint_ = lost_why_;
  }
  beaten_ = now;
  send(KnobVerb::beat, 0, 0);
  if (link_ == Link::ready && unheard_beats_ <= kDeafAfterBeats) ++unheard_beats_;
}

std::string RemoteActuator::take_complaint() { return std::exchange(complaint_, {}); }

void RemoteActuator::await(Duration most) {
  poll_for(events_, most);
  now_ = clock_.now();
  take_answers();
}

KnobAnswer RemoteActuator::wait_for_answer(Duration most) {
  const std::uint32_t wanted = sequence_;
  now_ = clock_.now();
  const Time end = now_ + most;
  while (link_ == Link::ready && now_ < end) {
    await(end - now_);
    if (answer_.sequence == wanted) return answer_;
  }
  throw KnobError(link_ == Link::ready ? described(socket_) + ": no answer" : lost_why_);
}

bool RemoteActuator::connect_anew() {
  tried_ = now_;
  connection_ = connect_to(socket_);
  if (connection_ < 0) {
    const int error = errno;
    lose(std::strerror(error) + way_in(error));
    return false;
  }
  epoll_event event{};
  event.events = EPOLLIN;
  link_ = Link::greeting;
  answer_ = {};
  const std::optional<SocketPeer> peer = peer_of(connection_);
  if (!peer || (peer->user != 0 && peer->user != geteuid())) {
    lose("who listens there is neither root nor this user");
    return true;
  }
  if (epoll_ctl(events_, EPOLL_CTL_ADD, connection_, &event) != 0) lose(std::strerror(errno));
  if (link_ == Link::greeting) send(KnobVerb::hello, 0, kKnobProtocolVersion);
  return true;
}

// False where it could not be sent now. Requests are so small that one is sent whole or not at all.
bool RemoteActuator::send(KnobVerb verb, std::uint8_t knob, std::int64_t value) {
  const KnobRequest request{.sequence = ++sequence_, .verb = verb, .knob = knob, .value = value};
  const std::array<char, kRequestBytes> bytes = encode(request);
  const ssize_t sent = ::send(connection_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (sent == static_cast<ssize_t>(bytes.size())) return true;
  // What it said before it went is worth more than that it has gone.
  if (sent < 0 && errno != EAGAIN) take_answers();
  if (link_ != Link::lost && (sent >= 0 || errno != EAGAIN)) lose(std::strerror(errno));
  return false;
}

void RemoteActuator::take_answers() {
  while (link_ != Link::lost) {
    std::array<char, 4096> chunk;
    const ssize_t got = recv(connection_, chunk.data(), chunk.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) {
      lose(got == 0 ? "it has gone" : std::strerror(errno));
      return;
    }
    bytes_.append(chunk.data(), static_cast<std::size_t>(got));
    try {
      std::size_t begin = 0;
      while (const std::size_t size =
                 decode_answer(std::string_view(bytes_).substr(begin), answer_)) {
        begin += size;
        take(answer_);
        if (link_ == Link::lost) return;
      }
      bytes_.erase(0, begin);
    } catch (const KnobProtocolError& error) {
      lose(error.what());
    }
  }
}

void RemoteActuator::take(const KnobAnswer& answer) {
  unheard_beats_ = 0;
  if (link_ == Link::greeting) {
    greet(answer);
    return;
  }
  if (!lost_why_.empty()) complaint_ = described(socket_) + ": answers again";
  lost_why_.clear();
  const auto of_answer = [&](const Sent& sent) { return sent.sequence == answer.sequence; };
  auto* const end = sent_.begin() + static_cast<std::ptrdiff_t>(sent_count_);
  const bool was_write = std::find_if(sent_.begin(), end, of_answer) != end;
  sent_count_ =
      static_cast<std::size_t>(std::remove_if(sent_.begin(), end, of_answer) - sent_.begin());
  values_ = answer.values;
  if (write_ && write_->sequence == answer.sequence) {
    write_->answer = answer.type;
    write_->text = answer.text;
    const bool waits = answer.type == KnobAnswerType::away;
    if (waits && !helper_waits_) complaint_ = described(socket_) + ": " + answer.text;
    helper_waits_ = waits;
  } else if (answer.type == KnobAnswerType::refused && !was_write) {
    complaint_ = answer.text;
  }
}

void RemoteActuator::greet(const KnobAnswer& answer) {
  if (!answer.welcome) {
    lose(answer.text.empty() ? "it speaks another language" : answer.text);
    return;
  }
  const bool first = welcome_.board.empty();
  const bool same =
      answer.welcome->board == welcome_.board && same_knobs(answer.welcome->knobs, welcome_.knobs);
  if (!first && !same) {
    lose("its board or its knobs are others than before; start this daemon again");
    return;
  }
  if (first) welcome_ = *answer.welcome;
  if (!first) complaint_ = described(socket_) + ": has come back";
  values_ = answer.values;
  link_ = Link::ready;
  lost_why_.clear();
  if (!first) manage_again();
}

// Told once: the next tries to connect fail for the same reason.
void RemoteActuator::lose(const std::string& why) {
  if (connection_ >= 0) close(connection_);
  connection_ = -1;
  link_ = Link::lost;
  bytes_.clear();
  write_.reset();
  sent_count_ = 0;
  const bool told = !lost_why_.empty();
  helper_waits_ = false;
  lost_why_ = described(socket_) + ": " + why;
  if (!told) complaint_ = lost_why_ + "; no knob can be set until it answers again";
}

bool RemoteActuator::unanswered(std::size_t knob) const {
  return std::any_of(sent_.begin(), sent_.begin() + static_cast<std::ptrdiff_t>(sent_count_),
                     [&](const Sent& sent) { return sent.knob == knob; });
}

}  // namespace gearshift
