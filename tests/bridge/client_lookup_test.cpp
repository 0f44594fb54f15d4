// The C++ client where the name of the daemon's host takes long to look up: libzmq's thread does
// nothing else meanwhile.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <netdb.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <zmq.hpp>

#include "bridge/client/gearshift.hpp"
#include "bridge/client/gearshift_socket.hpp"

namespace gearshift {
namespace {

constexpr const char* kSlowHost = "slow.gearshift.test";
constexpr std::chrono::seconds kLongestLookup{20};  // only a failure waits for it

// What a nameserver does that answers when the test lets it.
class Nameserver {
 public:
  // Waits for an answer that the test lets it give.
  void look_up() {
    std::unique_lock<std::mutex> lock(mutex_);
    const int number = ++asked_;
    news_.notify_all();
    news_.wait_for(lock, kLongestLookup, [&] { return answered_ >= number; });
    answered_ = std::max(answered_, number);
  }
  // True once so many were asked for; false where that takes too long.
  bool is_asked(int number) {
    std::unique_lock<std::mutex> lock(mutex_);
    return news_.wait_for(lock, kLongestLookup, [&] { return asked_ >= number; });
  }
  void answer(int number) {
    const std::lock_guard<std::mutex> lock(mutex_);
    answered_ = number;
    news_.notify_all();
  }
  bool waits() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return asked_ > answered_;
  }
  void restart() {
    const std::lock_guard<std::mutex> lock(mutex_);
    asked_ = answered_ = 0;
  }

 private:
  std::mutex mutex_;
  std::condition_variable news_;
  int asked_ = 0;
  int answered_ = 0;
};

Nameserver& nameserver() {
  static Nameserver only;
  return only;
}

}  // namespace
}  // namespace gearshift

// Takes the place of the C library's, for libzmq too: this host is the machine itself.
extern "C" int getaddrinfo(const char* name, const char* service, const addrinfo* hints,
                           addrinfo** found) {
  static const auto real =
      reinterpret_cast<decltype(&::getaddrinfo)>(::dlsym(RTLD_NEXT, "getaddrinfo"));
  if (name == nullptr || std::string_view(name) != gearshift::kSlowHost) {
    return real(name, service, hints, found);
  }
  gearshift::nameserver().look_up();
  return real("127.0.0.1", service, hints, found);
}

namespace gearshift {
namespace {

class ClientLookup : public testing::Test {
 protected:
  ClientLookup() {
    nameserver().restart();
    daemon.set(zmq::sockopt::rcvtimeo, 20);  // ms
    daemon.set(zmq::sockopt::linger, 0);
    daemon.bind("tcp://127.0.0.1:*");
    const std::string bound = daemon.get(zmq::sockopt::last_endpoint);
    endpoint = "tcp://" + std::string(kSlowHost) + bound.substr(bound.rfind(':'));
  }
  ~ClientLookup() override { nameserver().answer(1000); }

  // A message comes to the daemon, by the connection that is being made.
  bool says() {
    for (int tries = 0; tries < 250; ++tries) {
      zmq::message_t frame;
      static_cast<void>(socket->send("x", 1));
      if (daemon.recv(frame)) return true;
    }
    return false;
  }

  zmq::context_t context{1};
  zmq::socket_t daemon{context, zmq::socket_type::router};
  std::string endpoint;
  std::optional<client::detail::DaemonSocket> socket;
};

TEST_F(ClientLookup, ThatTakesLongerThanTheFirstConnectionHasIsNotThrownAwayForEver) {
  using std::chrono::seconds;
  socket.emplace();
  socket->connect(endpoint, "", seconds(100));
  ASSERT_TRUE(nameserver().is_asked(1));
  EXPECT_EQ(socket->disconnect_if_stuck(seconds(104)), "");
  socket->connect(endpoint, "", seconds(104));
  nameserver().answer(1);
  ASSERT_TRUE(nameserver().is_asked(2)) << "the first connection was given up";
  EXPECT_EQ(socket->disconnect_if_stuck(seconds(109)), "");
  nameserver().answer(2);
  EXPECT_TRUE(says()) << "the second has twice the time";
}

TEST_F(ClientLookup, KeepsNobodyFromEnding) {
  client::Options options;
  options.name = "lenet";
  options.endpoint = endpoint;
  {
    const client::Workload workload(options);
    ASSERT_TRUE(nameserver().is_asked(1));
  }
  EXPECT_TRUE(nameserver().waits());
}

}  // namespace
}  // namespace gearshift
