#include "bridge/endpoints.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <optional>
#include <stdexcept>
#include <string>

#include "bridge/protocol.h"
#include "bridge/router.h"
#include "tests/bridge/frames.h"
#include "tests/fakes/file_mode.h"
#include "tests/fakes/listener.h"
#include "tests/fakes/says.h"
#include "tests/fakes/temp_tree.h"

namespace gearshift {
namespace {

using fakes::mode_of;
using fakes::says;

std::string endpoint_failure(const std::string& endpoint) {
  zmq::context_t context(1);
  try {
    const Router router(context, endpoint, ::geteuid());
  } catch (const std::exception& error) {
    EXPECT_NE(std::string(error.what()).find(endpoint), std::string::npos) << error.what();
    return error.what();
  }
  return "";
}

template <typename Work>
std::string refusal_of(const Work& work) {
  try {
    work();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

TEST(Endpoints, AreInTheUsersRuntimeFolder) {
  EXPECT_EQ(runtime_folder_of(0, "/run/user/0"), "/run/gearshift");
  EXPECT_EQ(runtime_folder_of(1000, "/run/user/1000"), "/run/user/1000/gearshift");
  EXPECT_EQ(runtime_folder_of(1000, ""), "/tmp/gearshift-1000");
  EXPECT_EQ(runtime_folder_of(1000, nullptr), "/tmp/gearshift-1000");
  EXPECT_EQ(default_workload_endpoint(), "ipc://" + runtime_folder().string() + "/workloads.ipc");
  EXPECT_EQ(default_control_endpoint(), "ipc://" + runtime_folder().string() + "/control.ipc");
}

// The operator's program tells whoever listens what its caps are, and believes the answers.
TEST(Endpoints, OfAnotherUserAreNotConnectedTo) {
  const fakes::TempTree tree;
  const std::string own = tree.at("/own");
  const std::string system = tree.at("/system");
  const auto connects_to = [&](std::uint32_t user) {
    return control_endpoint_in(own, system, user);
  };
  const std::string to_own = "ipc://" + own + "/control.ipc";
  const std::string to_system = "ipc://" + system + "/control.ipc";
  const std::uint32_t user = ::geteuid();
  EXPECT_EQ(connects_to(user), to_system) << "where only root makes one";
  EXPECT_EQ(control_endpoint_in(own, own, user), to_own);
  tree.folder("/own");
  tree.mode("/own", 0700);
  EXPECT_EQ(connects_to(user), to_own);
  tree.put("/system/control.ipc", "");
  EXPECT_EQ(connects_to(user), to_system);
  { const fakes::Listener killed(own + "/control.ipc"); }
  EXPECT_EQ(connects_to(user), to_system) << "a killed daemon left its socket file";
  const fakes::Listener daemon(own + "/control.ipc");
  EXPECT_EQ(connects_to(user), to_own);
  tree.mode("/own", 0777);
  EXPECT_EQ(connects_to(user), to_system);
  tree.remove("/system");
  EXPECT_TRUE(says(refusal_of([&] { connects_to(user); }), "daemon: remove it, or give"));
  tree.mode("/own", 0711);
  EXPECT_EQ(connects_to(user), to_own);
  if (user != 0) return;
  ASSERT_EQ(::chown(own.c_str(), 1001, 0), 0);
  EXPECT_EQ(connects_to(1001), to_own) << "root gave it to him";
  // In a sticky /tmp he cannot remove what is another's.
  const std::string refusal = refusal_of([&] { connects_to(1000); });
  EXPECT_TRUE(says(refusal, "set XDG_RUNTIME_DIR to a folder of yours")) << refusal;
  EXPECT_TRUE(says(refusal, "--control")) << refusal;
  EXPECT_FALSE(says(refusal, ": remove it")) << refusal;
  ASSERT_EQ(::chown((own + "/control.ipc").c_str(), 1000, 0), 0);
  EXPECT_THROW(connects_to(1001), std::runtime_error);
}

TEST(Endpoints, TheWayAroundAFolderIsOneThatItsUserCanGo) {
  EXPECT_TRUE(says(way_around(1000, 1000), "remove it"));
  EXPECT_TRUE(says(way_around(1001, 0), "remove it"));
  EXPECT_TRUE(says(way_around(1001, 1000), "set XDG_RUNTIME_DIR to a folder of yours"));
  EXPECT_TRUE(says(way_around(1001, 1000), "--control"));
}

TEST(Endpoints, AreOfThisMachineWhereNobodyNeedsAKey) {
  for (const char* endpoint : {"ipc:///tmp/x", "ipc://x", "inproc://x", "tcp://127.0.0.1:5555",
                               "tcp://127.1.2.3:*", "tcp://[::1]:5555"}) {
    EXPECT_NO_THROW(require_bindable(endpoint, Keys::none)) << endpoint;
    EXPECT_NO_THROW(require_bindable(endpoint, Keys::required)) << endpoint;
    EXPECT_FALSE(reaches_other_machines(endpoint)) << endpoint;
  }
  for (const char* endpoint :
       {"tcp://*:5555", "tcp://0.0.0.0:5555", "tcp://192.168.1.2:5555", "tcp://128.0.0.1:5555",
        "tcp://localhost.example.org:5555", "tcp://127.0.0.1.example.org:1", "tcp://[::]:5555",
        "tcp://eth0:5555"}) {
    EXPECT_THROW(require_bindable(endpoint, Keys::none), std::invalid_argument) << endpoint;
    EXPECT_NO_THROW(require_bindable(endpoint, Keys::required)) << endpoint;
    EXPECT_TRUE(reaches_other_machines(endpoint)) << endpoint;
  }
  for (const char* endpoint :
       {"", "ipc://", "ipc://@gearshift", "ipc://*", "x", "/tmp/x", "udp://127.0.0.1:5555",
        "epgm://eth0;239.192.1.1:5555", "tcp://127.0.0.1", "tcp://localhost:5555"}) {
    EXPECT_THROW(require_bindable(endpoint, Keys::none), std::invalid_argument) << endpoint;
    EXPECT_THROW(require_bindable(endpoint, Keys::required), std::invalid_argument) << endpoint;
  }
}

TEST(Endpoints, HaveAPortThatLibzmqTakesAsItIs) {
  for (const char* endpoint : {"tcp://127.0.0.1:1", "tcp://127.0.0.1:65535", "tcp://[::1]:5555",
                               "tcp://jetson.local:5555", "tcp://*:5555", "ipc:///tmp/a:b"}) {
    EXPECT_NO_THROW(require_endpoint(endpoint)) << endpoint;
  }
  for (const char* endpoint :
       {"tcp://127.0.0.1:99999", "tcp://127.0.0.1:65536", "tcp://127.0.0.1:2299x",
        "tcp://127.0.0.1:0", "tcp://127.0.0.1:", "tcp://127.0.0.1:*", "tcp://127.0.0.1:-1",
        "tcp://127.0.0.1:+1", "tcp://127.0.0.1: 1", "tcp://127.0.0.1", "tcp://:5555", "tcp://",
        "tcp://[::1]", "inproc://x", "ipc://", "foo", ""}) {
    EXPECT_THROW(require_endpoint(endpoint), std::invalid_argument) << endpoint;
  }
}

TEST(Endpoints, HaveAPathThatASocketCanHave) {
  const std::string longest = "ipc:///" + std::string(106, 'a');
  EXPECT_NO_THROW(require_endpoint(longest));
  EXPECT_THROW(require_endpoint(longest + "a"), std::invalid_argument);
  EXPECT_THROW(require_bindable(longest + "a", Keys::none), std::invalid_argument);
}

TEST(Endpoints, OfWorkloadsAndControlAreTwo) {
  const fakes::TempTree tree;
  tree.folder("/run");
  tree.link("/link", "run");
  const std::string at = "ipc://" + tree.at("").string();
  const auto one = [](const std::string& workloads, const std::string& control) {
    try {
      require_two(workloads, control);
    } catch (const std::invalid_argument& error) {
      return says(error.what(), "--listen and --control are the same, " + control);
    }
    return false;
  };
  EXPECT_TRUE(one(at + "/run/a", at + "/run/a"));
  EXPECT_TRUE(one(at + "/run/a", at + "/run/../run//a"));
  EXPECT_TRUE(one(at + "/run/a", at + "/link/a"));
  EXPECT_TRUE(one("tcp://127.0.0.1:5555", "tcp://127.0.0.1:5555"));
  EXPECT_TRUE(one("tcp://127.0.0.1:5555", "tcp://0.0.0.0:5555"));
  EXPECT_FALSE(one(at + "/run/a", at + "/run/b"));
  EXPECT_FALSE(one(at + "/run/a", "tcp://127.0.0.1:5555"));
  EXPECT_FALSE(one("tcp://127.0.0.1:5555", at + "/run/a"));
  EXPECT_FALSE(one("tcp://127.0.0.1:5555", "tcp://127.0.0.1:5556"));
  EXPECT_FALSE(one("tcp://127.0.0.1:5555", "tcp://127.0.0.2:5555"));
  EXPECT_FALSE(one("tcp://127.0.0.1:*", "tcp://127.0.0.1:*"));
}

TEST(Endpoints, BindTheirSocketForOneUser) {
  const fakes::TempTree tree;
  const std::string path = tree.at("/run/workloads.ipc");
  zmq::context_t context(1);
  const Router router(context, "ipc://" + path, ::geteuid());
  EXPECT_EQ(mode_of(path), 0600u);
  EXPECT_EQ(mode_of(tree.at("/run")), 0700u);
}

TEST(Endpoints, GiveTheSocketToTheUserItIsFor) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  const fakes::TempTree tree;
  const std::string path = tree.at("/run/workloads.ipc");
  zmq::context_t context(1);
  const Router router(context, "ipc://" + path, 1000);
  struct stat status {};
  ASSERT_EQ(::lstat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, 1000u);
  EXPECT_EQ(mode_of(path), 0600u);
  EXPECT_EQ(mode_of(tree.at("/run")), 0711u);
}

TEST(Endpoints, KeepTheUmask) {
  const fakes::TempTree tree;
  const mode_t old = ::umask(0027);
  zmq::context_t context(1);
  const Router router(context, "ipc://" + tree.at("/a.ipc").string(), ::geteuid());
  EXPECT_EQ(::umask(old), 0027u);
}

TEST(Endpoints, LeaveALivingDaemonAlone) {
  const fakes::TempTree tree;
  const std::string endpoint = "ipc://" + tree.at("/a.ipc").string();
  zmq::context_t context(1);
  Router living(context, endpoint, ::geteuid());
  const std::string failure = endpoint_failure(endpoint);
  EXPECT_TRUE(says(failure, "another daemon")) << failure;
  EXPECT_TRUE(says(failure, "gearshift stop")) << failure;
  // It still answers at its path.
  zmq::socket_t client(context, zmq::socket_type::dealer);
  client.connect(endpoint);
  client.send(zmq::str_buffer("x"), zmq::send_flags::none);
  zmq::pollitem_t item{living.socket().handle(), 0, ZMQ_POLLIN, 0};
  zmq::poll(&item, 1, std::chrono::seconds(20));
  zmq::message_t identity, frame;
  std::size_t budget = 1;
  ASSERT_TRUE(living.receive(identity, frame, budget));
  EXPECT_EQ(frame.to_string(), "x");
}

TEST(Endpoints, ReplaceTheSocketFileOfADeadDaemon) {
  const fakes::TempTree tree;
  const std::string path = tree.at("/a.ipc");
  const int dead = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(::bind(dead, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ::close(dead);  // the file stays, as after SIGKILL
  ASSERT_TRUE(std::filesystem::exists(path));
  EXPECT_EQ(endpoint_failure("ipc://" + path), "");
}

TEST(Endpoints, LeaveTheSocketFileOfAnotherDaemonWhereItIsWhenTheyEnd) {
  const fakes::TempTree tree;
  const std::string path = tree.at("/a.ipc");
  zmq::context_t later(1);
  std::optional<Router> second;
  {
    zmq::context_t context(1);
    const Router first(context, "ipc://" + path, ::geteuid());
    std::filesystem::remove(path);
    second.emplace(later, "ipc://" + path, ::geteuid());
  }
  EXPECT_TRUE(std::filesystem::exists(path));
  second.reset();
  EXPECT_FALSE(std::filesystem::exists(path)) << "its own";
}

TEST(Endpoints, TellOnceThatTheirSocketFileIsGone) {
  const fakes::TempTree tree;
  const std::string path = tree.at("/a.ipc");
  zmq::context_t context(1);
  Router router(context, "ipc://" + path, ::geteuid());
  const Time start(std::chrono::hours(1));
  const auto after = [&](int after_s) {
    return router.take_complaint(start + std::chrono::seconds(after_s));
  };
  EXPECT_EQ(after(0), "");
  std::filesystem::remove(path);
  tree.put("/a.ipc", "another");
  EXPECT_EQ(after(59), "") << "it looks once a minute";
  const std::string complaint = after(60);
  EXPECT_TRUE(says(complaint, path)) << complaint;
  EXPECT_TRUE(says(complaint, "nobody can connect")) << complaint;
  EXPECT_EQ(after(120), "");
}

TEST(Endpoints, SayWhyAPlaceIsNoGood) {
  const fakes::TempTree tree;
  tree.put("/file", "not a socket");
  EXPECT_TRUE(says(endpoint_failure("ipc://" + tree.at("/file").string()), "no socket"));
  EXPECT_EQ(tree.get("/file"), "not a socket");
  EXPECT_TRUE(says(endpoint_failure("ipc://" + tree.at("/no/such/folder/a.ipc").string()),
                   "cannot make folder"));
  tree.folder("/open");
  tree.mode("/open", 0777);
  EXPECT_TRUE(
      says(endpoint_failure("ipc://" + tree.at("/open/a.ipc").string()), "every user may write"));
  tree.link("/link", "open");
  EXPECT_TRUE(
      says(endpoint_failure("ipc://" + tree.at("/link/a.ipc").string()), "every user may write"));
  EXPECT_TRUE(
      says(endpoint_failure("ipc://" + tree.at("/" + std::string(120, 'a')).string()), "bytes"));
  EXPECT_TRUE(says(endpoint_failure("tcp://0.0.0.0:5555"), "gearshift keys server"));
  EXPECT_TRUE(says(endpoint_failure("tcp://127.0.0.1:port"), "a port of 1 to 65535"));
}

TEST(Endpoints, TellThatAPortIsTaken) {
  zmq::context_t context(1);
  Router first(context, "tcp://127.0.0.1:*", ::geteuid());
  const std::string taken = first.socket().get(zmq::sockopt::last_endpoint);
  EXPECT_TRUE(says(endpoint_failure(taken), "another program"));
}

TEST(Endpoints, DropMessagesOfAnyOtherNumberOfFrames) {
  zmq::context_t context(1);
  Router router(context, "inproc://a", ::geteuid());
  zmq::socket_t client(context, zmq::socket_type::dealer);
  client.connect("inproc://a");
  client.send(zmq::str_buffer("one"), zmq::send_flags::sndmore);
  client.send(zmq::str_buffer("two"), zmq::send_flags::none);
  client.send(zmq::str_buffer("good"), zmq::send_flags::none);
  zmq::message_t identity, frame;
  std::size_t budget = 8;
  ASSERT_TRUE(router.receive(identity, frame, budget));
  EXPECT_EQ(frame.to_string(), "good");
  EXPECT_EQ(budget, 6u);
  EXPECT_FALSE(router.receive(identity, frame, budget));
}

// Who sends a message of a million frames must not have them all passed over in one tick.
TEST(Endpoints, PassOverAMessageOfVeryManyFramesInSteps) {
  zmq::context_t context(1);
  Router router(context, "inproc://a", ::geteuid());
  zmq::socket_t client(context, zmq::socket_type::dealer);
  client.connect("inproc://a");
  for (int i = 0; i < 10'000; ++i) client.send(zmq::str_buffer("x"), zmq::send_flags::sndmore);
  client.send(zmq::str_buffer("the last"), zmq::send_flags::none);
  client.send(zmq::str_buffer("good"), zmq::send_flags::none);
  zmq::message_t identity, frame;
  std::size_t budget = 8;
  int calls = 1;
  while (!router.receive(identity, frame, budget)) ASSERT_LT(++calls, 20);
  EXPECT_EQ(frame.to_string(), "good");
  EXPECT_EQ(calls, 10) << "about a thousand frames each";
  EXPECT_EQ(budget, 6u) << "it is one message all the same";
}

TEST(Endpoints, StopReadingWhenTheBudgetIsSpent) {
  zmq::context_t context(1);
  Router router(context, "inproc://a", ::geteuid());
  zmq::socket_t client(context, zmq::socket_type::dealer);
  client.connect("inproc://a");
  for (int i = 0; i < 3; ++i) client.send(zmq::str_buffer("x"), zmq::send_flags::none);
  zmq::message_t identity, frame;
  std::size_t budget = 2;
  EXPECT_TRUE(router.receive(identity, frame, budget));
  EXPECT_TRUE(router.receive(identity, frame, budget));
  EXPECT_FALSE(router.receive(identity, frame, budget));
  budget = 1;
  EXPECT_TRUE(router.receive(identity, frame, budget));
}

}  // namespace
}  // namespace gearshift
