#include "actuators/knob_server.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>

#include "actuators/board_actuator.h"
#include "actuators/guardian.h"
#include "actuators/knob_session.h"

namespace gearshift {
namespace {

constexpr int kLooksInPatience = 10;
constexpr Duration kComplaintEvery = std::chrono::seconds(1);
constexpr int kThrottledMs = 10;

std::string describe(const SocketPeer& peer) {
  return "process " + std::to_string(peer.pid) + " of user " + std::to_string(peer.user);
}

// Puts back what an earlier process left, and says what can be set here.
std::vector<std::string> look_over(const BoardDescription& board, Sysroot& root,
                                   const std::filesystem::path& journal) {
  BoardActuator actuator(board, root, {.journal = journal});
  std::vector<std::string> findings = actuator.findings();
  for (const AbsentKnob& knob : actuator.absent()) {
    findings.push_back(knob.name + ": absent: " + knob.reason);
  }
  if (!actuator.writable()) {
    findings.emplace_back("no knob can be set here; run as root, or for a board that has some");
  }
  return findings;
}

// A client that reads nothing has a full buffer in the end, and must not make this process wait.
bool send_all(int descriptor, std::string_view bytes) {
  const ssize_t sent = send(descriptor, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  return sent == static_cast<ssize_t>(bytes.size());
}

}  // namespace

struct KnobServer::Client {
  Client(const PrivateSocket::Connection& connection, KnobServer& server, Time now)
      : descriptor(connection.descriptor),
        peer(connection.peer),
        guardian(std::make_unique<Guardian>(
            server.board_, server.root_, server.clock_,
            GuardianOptions{.journal = server.options_.journal,
                            .tell = server.options_.tell,
                            .watched = "the helper",
                            .closed = {server.socket_.descriptor(), connection.descriptor}})),
        actuator(server.board_, server.root_,
                 {.journal = server.options_.journal,
                  .clock = &server.clock_,
                  .guardian = {.saved = &guardian->saved(),
                               .step_patience = server.options_.step_patience}}),
        session(actuator, server.root_, server.machine_, server.board_.id, connection.peer.user),
        allowance(server.options_.requests_per_s, now),
        looked(now) {
    actuator.spare(peer.pid);
  }

  const int descriptor;
  const SocketPeer peer;
  std::unique_ptr<Guardian> guardian;  // forks, before any file of the board is open
  BoardActuator actuator;
  KnobSession session;
  Allowance allowance;
  std::array<char, 64 * kRequestBytes> bytes{};
  std::size_t size = 0;        // of what is in `bytes`
  std::uint64_t requests = 1;  // what it said; connecting counts
  StallWatch stall{kLooksInPatience};
  Time looked;
  bool hangs = false;
};

KnobServer::KnobServer(const BoardDescription& board, Sysroot& root, const Clock& clock,
                       KnobServerOptions options)
    : board_(board),
      root_(root),
      clock_(clock),
      options_(std::move(options)),
      findings_(look_over(board, root, options_.journal)),
      socket_(options_.socket, options_.user),
      connections_(options_.connections_per_s, clock.now()) {}

KnobServer::~KnobServer() { end_client(" is left"); }

void KnobServer::run(int stop_descriptor) {
  while (turn(stop_descriptor)) continue;
  end_client(" is left, for this process ends");
}

bool KnobServer::turn(int stop_descriptor) {
  const Time before = clock_.now();
  const bool full = connections_.left(before) == 0;
  const bool throttled = client_ != nullptr && client_->allowance.left(before) == 0;
  const int client = client_ == nullptr || throttled ? -1 : client_->descriptor;
  std::array<pollfd, 3> items = {pollfd{stop_descriptor, POLLIN, 0},
                                 pollfd{full ? -1 : socket_.descriptor(), POLLIN, 0},
                                 pollfd{client, POLLIN, 0}};
  const auto look =
      std::chrono::ceil<std::chrono::milliseconds>(options_.patience / kLooksInPatience);
  int timeout_ms = client_ == nullptr ? -1 : static_cast<int>(look.count());
  if (full || throttled) timeout_ms = kThrottledMs;
  if (poll(items.data(), items.size(), timeout_ms) < 0 && errno != EINTR) {
    throw std::runtime_error(std::string("poll: ") + std::strerror(errno));
  }
  if (items[0].revents != 0) return false;
  const Time now = clock_.now();
  // The client first: where it has gone, its place is free for the one that waits.
  if (items[2].revents != 0 && !take_requests(now)) end_client(" has gone");
  if (items[1].revents != 0) {
    connections_.spend(1);
    if (const auto connection = socket_.accept()) let_in(*connection);
  }
  if (client_ != nullptr) look_after(now);
  return true;
}

void KnobServer::let_in(const PrivateSocket::Connection& connection) {
  const SocketPeer& peer = connection.peer;
  if (peer.user != options_.user && peer.user != 0) {
    turn_away(connection, KnobAnswerType::refused,
              "user " + std::to_string(peer.user) + " may not set knobs here; user " +
                  std::to_string(options_.user) + " may (--user of the helper)");
    return;
  }
  if (client_ != nullptr) {
    turn_away(connection, KnobAnswerType::busy,
              describe(client_->peer) + " has the knobs; stop it first: only one may set them");
    return;
  }
  try {
    client_ = std::make_unique<Client>(connection, *this, clock_.now());
  } catch (const BusyError& error) {
    turn_away(connection, KnobAnswerType::busy, error.what());
    return;
  } catch (const std::runtime_error& error) {
    turn_away(connection, KnobAnswerType::refused, error.what());
    return;
  }
  tell(describe(peer) + " has the knobs");
}

void KnobServer::turn_away(const PrivateSocket::Connection& connection, KnobAnswerType type,
                           const std::string& why) {
  KnobAnswer answer;
  answer.type = type;
  answer.text = why;
  send_all(connection.descriptor, encode(answer));
  close(connection.descriptor);
  complain(describe(connection.peer) + " was turned away: " + why, clock_.now());
}

bool KnobServer::take_requests(Time now) {
  Client& client = *client_;
  while (true) {
    const std::size_t most =
        std::min(client.bytes.size(), client.allowance.left(now) * kRequestBytes);
    if (most <= client.size) return true;  // the rest has to wait
    const ssize_t got =
        recv(client.descriptor, client.bytes.data() + client.size, most - client.size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno == EAGAIN;
    if (got == 0) return false;
    client.size += static_cast<std::size_t>(got);
    const std::size_t whole = client.size / kRequestBytes;
    client.allowance.spend(whole);
    for (std::size_t i = 0; i < whole; ++i) {
      const std::span<const char, kRequestBytes> bytes(client.bytes.data() + i * kRequestBytes,
                                                       kRequestBytes);
      const std::optional<KnobRequest> request = decode_request(bytes);
      if (!request) {
        complain(describe(client.peer) + " sent bytes that are no request and is cut off", now);
        return false;
      }
      if (!serve(*request, now)) return false;
    }
    client.size -= whole * kRequestBytes;
    std::copy_n(client.bytes.data() + whole * kRequestBytes, client.size, client.bytes.data());
  }
}

bool KnobServer::serve(const KnobRequest& request, Time now) {
  Client& client = *client_;
  ++client.requests;
  client.guardian->beat();
  if (client.hangs) tell(describe(client.peer) + " goes on");
  client.hangs = false;
  const std::optional<KnobAnswer> answer = client.session.serve(request, now);
  const std::string offence = client.session.take_offence();
  if (!offence.empty()) complain(describe(client.peer) + " was refused: " + offence, now);
  try {
    return !answer || send_all(client.descriptor, encode(*answer));
  } catch (const KnobProtocolError& error) {
    complain(error.what(), now);
    return false;
  }
}

// What a guardian process does for a daemon that sets knobs itself. Looks are counted, not seconds:
// a machine that was suspended hangs nobody.
void KnobServer::look_after(Time now) {
  Client& client = *client_;
  client.guardian->beat();
  const std::string news = client.guardian->take_news();
  if (!news.empty()) tell(news);
  const std::string waits = client.actuator.take_complaint();
  if (!waits.empty()) tell(waits);
  if (now - client.looked < options_.patience / kLooksInPatience) return;
  client.looked = now;
  client.actuator.keep_journal();
  // Its loop has ended, and what it has set is to stay.
  if (client.session.keeps()) return;
  if (!client.stall.look(client.requests)) return;
  std::optional<std::string> done;
  try {
    done = step_to_safe_mode(board_, root_, clock_, options_.journal);
  } catch (const std::exception& error) {
    done = std::string("the safe mode cannot be set: ") + error.what();
  }
  if (!done) return;  // it has set nothing
  client.hangs = true;
  if (done->empty()) done = "stepped to the safe mode until it goes on";
  tell(describe(client.peer) + " says nothing any more; " + *done);
}

void KnobServer::end_client(const std::string& why) {
  if (client_ == nullptr) return;
  const int descriptor = client_->descriptor;
  std::string done = "its setting is kept";
  bool is_left = false;
  if (!client_->session.keeps()) {
    done = "the knobs are as they were found";
    try {
      client_->actuator.restore();
    } catch (const std::runtime_error& error) {
      done = std::string(error.what()) + "; left to the guardian process, or to the next start";
      is_left = true;
    }
  }
  tell(describe(client_->peer) + why + "; " + done);
  const std::string complaint = client_->actuator.take_complaint();
  if (!complaint.empty()) tell(complaint);
  std::unique_ptr<Guardian> guardian = std::move(client_->guardian);
  client_.reset();  // with the journal, which the guardian may need
  close(descriptor);
  if (!is_left) return;
  guardian->hand_over();
  left_ = std::move(guardian);
}

void KnobServer::tell(const std::string& text) {
  if (options_.tell != nullptr) options_.tell(text);
}

void KnobServer::complain(const std::string& text, Time now) {
  ++untold_;
  if (now - complained_ < kComplaintEvery) return;
  complained_ = now;
  tell(text + (untold_ > 1 ? " (" + std::to_string(untold_) + " since the last such line)" : ""));
  untold_ = 0;
}

}  // namespace gearshift
