// Keys over real tcp sockets of this machine: who comes in, who does not, and who is put out.
#include "bridge/authenticator.h"

#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "bridge/control_endpoint.h"
#include "bridge/workload_endpoint.h"
#include "tests/bridge/frames.h"
#include "tests/fakes/manual_clock.h"
#include "tests/fakes/temp_tree.h"

namespace gearshift {
namespace {

using std::chrono::milliseconds;

constexpr int kRounds = 2000;  // of ten milliseconds: only a failure waits for all of them

KeyFolder made_folder(const fakes::TempTree& tree, const KeyPair& server) {
  KeyFolder folder(tree.at("/my keys"));
  folder.make();
  write_key_file(folder.server_path(), {"", server, ""});
  return folder;
}

// A client's socket, with what became of its handshake.
class WatchedSocket {
 public:
  WatchedSocket(const std::string& endpoint, const KeyPair* pair, const std::string& server_key)
      : socket_(context_, zmq::socket_type::dealer), monitor_(context_, zmq::socket_type::pair) {
    socket_.set(zmq::sockopt::linger, 0);
    if (pair != nullptr) {
      socket_.set(zmq::sockopt::curve_serverkey, server_key);
      socket_.set(zmq::sockopt::curve_publickey, pair->public_key);
      socket_.set(zmq::sockopt::curve_secretkey, pair->secret_key);
    }
    constexpr int kFailures = ZMQ_EVENT_HANDSHAKE_FAILED_AUTH |
                              ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                              ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL;
    EXPECT_EQ(::zmq_socket_monitor(socket_.handle(), "inproc://monitor", kFailures), 0);
    monitor_.connect("inproc://monitor");
    socket_.connect(endpoint);
  }
  void send(const std::string& frame) {
    socket_.send(zmq::const_buffer(frame.data(), frame.size()), zmq::send_flags::none);
  }
  bool refused() {
    zmq::message_t event;
    return monitor_.recv(event, zmq::recv_flags::dontwait).has_value();
  }
  std::optional<wire::DaemonMessage> receive() {
    zmq::message_t frame;
    wire::DaemonMessage message;
    if (!socket_.recv(frame, zmq::recv_flags::dontwait)) return std::nullopt;
    if (wire::decode(frame.to_string_view(), message)) return std::nullopt;
    return message;
  }

 private:
  zmq::context_t context_{1};
  zmq::socket_t socket_;
  zmq::socket_t monitor_;
};

class AuthenticatorTest : public testing::Test {
 protected:
  AuthenticatorTest() {
    ClientTable clients;
    clients.put({"drone7", drone.public_key, {Right::report, Right::request_batch_size}});
    clients.put({"ground", ground.public_key, {Right::change_caps}});
    folder.write_clients(clients);
    authenticator.take_changes();
  }
  // As the live world does, until `done` says so. False where it never did.
  bool serve(const std::function<bool()>& done) {
    for (int i = 0; i < kRounds; ++i) {
      zmq::pollitem_t items[] = {{authenticator.socket().handle(), 0, ZMQ_POLLIN, 0},
                                 {workloads.socket().handle(), 0, ZMQ_POLLIN, 0},
                                 {control.socket().handle(), 0, ZMQ_POLLIN, 0}};
      zmq::poll(items, 3, milliseconds(10));
      if (authenticator.take_changes()) workloads.review(clock.time, events);
      authenticator.answer(clock.time);
      std::size_t budget = kMaxEventsPerTick;
      workloads.drain(clock, budget, events);
      control.drain(clock.time, budget, events);
      if (done()) return true;
    }
    return false;
  }
  WatchedSocket client(WorkloadEndpoint& endpoint, const KeyPair* pair) const {
    return {endpoint.socket().get(zmq::sockopt::last_endpoint), pair, server.public_key};
  }
  bool serve_until_refused(WatchedSocket& socket) {
    socket.send(frames::packed(frames::hello()));
    return serve([&] { return socket.refused(); });
  }
  // The answer to a control request.
  std::string code_of_answer(const KeyPair& pair) {
    WatchedSocket socket(control.socket().get(zmq::sockopt::last_endpoint), &pair,
                         server.public_key);
    socket.send(frames::packed(wire::CapRequest{20'000}));
    std::optional<wire::DaemonMessage> answer;
    std::string code = "ok";
    serve([&] {
      answer = socket.receive();
      if (answer && std::holds_alternative<wire::Error>(*answer)) {
        code = std::string(std::get<wire::Error>(*answer).code.view());
      }
      return answer.has_value() || !events.empty();
    });
    return code;
  }

  const fakes::TempTree tree;
  const fakes::ManualClock clock;
  const KeyPair server = make_key_pair();
  const KeyPair drone = make_key_pair();
  const KeyPair ground = make_key_pair();
  const KeyPair stranger = make_key_pair();
  const KeyFolder folder = made_folder(tree, server);
  zmq::context_t context{1};
  // As `--keys` may name it; what is told names it so that it can be typed anywhere.
  Authenticator authenticator{context, KeyFolder(std::filesystem::relative(folder.path()))};
  WorkloadEndpoint workloads{context, "tcp://127.0.0.1:*", {}, &authenticator};
  ControlEndpoint control{context, "tcp://127.0.0.1:*", {}, &authenticator};
  EventBuffer events;
};

TEST_F(AuthenticatorTest, LetsAKnownKeyIn) {
  WatchedSocket socket = client(workloads, &drone);
  socket.send(frames::packed(frames::hello()));
  ASSERT_TRUE(serve([&] { return !events.empty(); }));
  EXPECT_EQ(events[0].type, EventType::attached);
  EXPECT_TRUE(events[0].workload.managed);
  EXPECT_EQ(authenticator.take_complaint(), "");
}

TEST_F(AuthenticatorTest, RefusesAnUnknownKeyAndTellsTheOperatorWhich) {
  WatchedSocket socket = client(workloads, &stranger);
  EXPECT_TRUE(serve_until_refused(socket));
  EXPECT_TRUE(events.empty());
  const std::string complaint = authenticator.take_complaint();
  EXPECT_NE(complaint.find(stranger.public_key), std::string::npos) << complaint;
  EXPECT_NE(complaint.find("127.0.0.1"), std::string::npos) << complaint;
  // Keys have characters that a shell acts on.
  EXPECT_NE(complaint.find("gearshift keys authorise NAME '" + stranger.public_key + "' --keys '" +
                           folder.path().string() + "'"),
            std::string::npos)
      << complaint;
  EXPECT_EQ(authenticator.take_complaint(), "");
}

TEST_F(AuthenticatorTest, RefusesWhoHasNoKey) {
  WatchedSocket socket = client(workloads, nullptr);
  EXPECT_TRUE(serve_until_refused(socket));
  EXPECT_TRUE(events.empty());
}

// libzmq itself turns away who says nothing of keys; of who says something else it asks.
TEST_F(AuthenticatorTest, TellsTheOperatorHowToMakeAKey) {
  zmq::socket_t asks(context, zmq::socket_type::dealer);
  asks.set(zmq::sockopt::linger, 0);
  asks.connect("inproc://zeromq.zap.01");
  const auto send = [&asks](const std::string& frame, zmq::send_flags more) {
    asks.send(zmq::const_buffer(frame.data(), frame.size()), more);
  };
  for (const char* frame : {"", "1.0", "1", "workload", "10.0.0.1", "", "PLAIN"}) {
    send(frame, zmq::send_flags::sndmore);
  }
  send("user", zmq::send_flags::none);
  authenticator.answer(clock.time);
  const std::string complaint = authenticator.take_complaint();
  const std::string way_out = "gearshift keys client NAME --keys '" + folder.path().string() + "'";
  EXPECT_TRUE(complaint.ends_with(way_out)) << complaint;
}

TEST_F(AuthenticatorTest, RefusesWhoExpectsAnotherDaemon) {
  WatchedSocket socket(workloads.socket().get(zmq::sockopt::last_endpoint), &drone,
                       stranger.public_key);
  EXPECT_TRUE(serve_until_refused(socket));
  EXPECT_TRUE(events.empty());
}

TEST_F(AuthenticatorTest, PutsOutWhoIsRevokedAndLetsHimInNoMore) {
  WatchedSocket socket = client(workloads, &drone);
  socket.send(frames::packed(frames::hello()));
  ASSERT_TRUE(serve([&] { return !events.empty(); }));
  events.clear();
  folder.write_clients({});
  ASSERT_TRUE(serve([&] { return !events.empty(); }));
  EXPECT_EQ(events[0].type, EventType::detached);
  EXPECT_EQ(events[0].text.view(), "its key was revoked");
  events.clear();
  // The connection that is still there is of no use.
  socket.send(frames::packed(frames::hello()));
  const auto forbidden = [&] {
    const auto message = socket.receive();
    const auto* error = message ? std::get_if<wire::Error>(&*message) : nullptr;
    return error != nullptr && error->message.view().find("any more") != std::string_view::npos &&
           error->message.view().find(" '" + drone.public_key + "' ") != std::string_view::npos;
  };
  EXPECT_TRUE(serve(forbidden));
  WatchedSocket again = client(workloads, &drone);
  EXPECT_TRUE(serve_until_refused(again));
  EXPECT_TRUE(events.empty());
}

TEST_F(AuthenticatorTest, PutsOutWhoIsRevokedInAFolderThatTookItsPlace) {
  WatchedSocket socket = client(workloads, &drone);
  socket.send(frames::packed(frames::hello()));
  ASSERT_TRUE(serve([&] { return !events.empty(); }));
  events.clear();
  // As a deployment does, or who restores a backup.
  const std::filesystem::path keys = folder.path();
  std::filesystem::copy(keys, tree.at("/new"));
  tree.mode("/new", 0700);
  std::filesystem::rename(keys, tree.at("/old"));
  std::filesystem::rename(tree.at("/new"), keys);
  EXPECT_TRUE(authenticator.take_changes());
  EXPECT_EQ(authenticator.take_complaint(), "");
  folder.write_clients({});
  ASSERT_TRUE(serve([&] { return !events.empty(); }));
  EXPECT_EQ(events[0].text.view(), "its key was revoked");
}

TEST_F(AuthenticatorTest, PutsOutAllWhereItsTableWasTakenAway) {
  std::filesystem::rename(folder.clients_path(), tree.at("/my keys/clients.off"));
  EXPECT_TRUE(authenticator.take_changes());
  WatchedSocket socket = client(workloads, &drone);
  EXPECT_TRUE(serve_until_refused(socket));
}

TEST_F(AuthenticatorTest, TellsThatItsFolderIsGoneAndLooksForAnother) {
  std::filesystem::rename(folder.path(), tree.at("/old"));
  EXPECT_TRUE(authenticator.take_changes());
  const std::string complaint = authenticator.take_complaint();
  EXPECT_NE(complaint.find("cannot be watched"), std::string::npos) << complaint;
  EXPECT_FALSE(authenticator.take_changes());
  EXPECT_EQ(authenticator.take_complaint(), "");
  std::filesystem::rename(tree.at("/old"), folder.path());
  EXPECT_TRUE(authenticator.take_changes());
  EXPECT_NE(authenticator.clients().find_name("drone7"), nullptr);
  folder.write_clients({});
  EXPECT_TRUE(authenticator.take_changes());
}

TEST_F(AuthenticatorTest, KeepsTheOldTableWhereTheNewOneCannotBeUsed) {
  tree.put("/my keys/clients", "nonsense");
  std::string complaint;
  EXPECT_TRUE(serve([&] { return !(complaint = authenticator.take_complaint()).empty(); }));
  EXPECT_NE(complaint.find("line 1"), std::string::npos) << complaint;
  WatchedSocket socket = client(workloads, &drone);
  socket.send(frames::packed(frames::hello()));
  EXPECT_TRUE(serve([&] { return !events.empty(); }));
}

TEST_F(AuthenticatorTest, CapsAreChangedByWhoHasTheRight) {
  EXPECT_EQ(code_of_answer(drone), "forbidden");
  EXPECT_TRUE(events.empty());
  EXPECT_EQ(code_of_answer(ground), "ok");
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].type, EventType::cap);
}

TEST_F(AuthenticatorTest, ControlRequestsOfOneClientAreBounded) {
  WatchedSocket socket(control.socket().get(zmq::sockopt::last_endpoint), &ground,
                       server.public_key);
  for (int i = 0; i < 20; ++i) socket.send(frames::packed(wire::CapRequest{20'000}));
  int errors = 0;
  EXPECT_TRUE(serve([&] {
    const auto answer = socket.receive();
    errors += answer && std::holds_alternative<wire::Error>(*answer) ? 1 : 0;
    return errors == 4;
  }));
  EXPECT_EQ(events.size(), 16u);
}

// What a daemon of a user tells that has no watches left.
std::string told_without_watches() {
  const fakes::TempTree tree;
  const KeyFolder folder = made_folder(tree, make_key_pair());
  while (inotify_init1(IN_CLOEXEC) >= 0) continue;
  zmq::context_t context(1);
  Authenticator authenticator(context, folder);
  return authenticator.take_complaint();
}

TEST(Authenticator, TellsWhereItCannotSeeThatAKeyIsRevoked) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become a user whose watches nobody misses";
  const pid_t child = fork();
  if (child == 0) {
    constexpr uid_t kNobodys = 54321;
    if (setgid(kNobodys) != 0 || setuid(kNobodys) != 0) _exit(1);
    _exit(told_without_watches().find("cannot be watched") == std::string::npos ? 2 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(Authenticator, NeedsTheDaemonsKeys) {
  const fakes::TempTree tree;
  zmq::context_t context(1);
  EXPECT_THROW(Authenticator(context, KeyFolder(tree.at("/my keys"))), std::runtime_error);
}

}  // namespace
}  // namespace gearshift
