// Round trip of a report through the bridge, against a bare ZeroMQ ping-pong of the same bytes.
//
// Two processes on one core, as a trainer and the daemon may be (a wake-up of another core costs
// more than all that is measured here). Blocks of both kinds of round trip alternate, so that the
// machine's moods meet both. Exits non-zero on errors only: a slow machine is no error.
#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>
#include <zmq.hpp>

#include "bridge/protocol.h"
#include "bridge/workload_endpoint.h"
#include "controller/clock.h"

namespace gearshift {
namespace {

constexpr int kBlocks = 200;
constexpr int kWarmUpBlocks = 20;
constexpr int kRoundTripsPerBlock = 200;
constexpr int kGiveUpMs = 10'000;

class SteadyClock final : public Clock {
 public:
  Time now() const override { return Time(std::chrono::steady_clock::now().time_since_epoch()); }
};

zmq::const_buffer buffer_of(std::string_view bytes) { return {bytes.data(), bytes.size()}; }

wire::Hello hello() {
  wire::Hello hello;
  hello.name = wire::Text("bench");
  hello.batch_size = 16;
  hello.batch_sizes = {16, 32};
  hello.batch_size_count = 2;
  return hello;
}

wire::Report report_of(std::uint64_t sequence) {
  wire::Report report;
  report.sequence = sequence;
  report.batch_size = 32;
  report.elapsed = std::chrono::microseconds(8400);
  report.fetch_stall = std::chrono::microseconds(210);
  report.compute = std::chrono::microseconds(8000);
  return report;
}

wire::Set set_of(std::uint32_t sequence) { return {sequence, 32, Run::both}; }

struct Endpoints {
  std::string bridge;
  std::string bare;
};

// The daemon's process.

void receive_bare(zmq::socket_t& socket, zmq::message_t& identity, zmq::message_t& frame) {
  if (!socket.recv(identity) || !socket.recv(frame)) throw std::runtime_error("client is silent");
}

void serve_bare(zmq::socket_t& socket, std::string_view answer) {
  zmq::message_t identity, frame;
  for (int i = 0; i < kRoundTripsPerBlock; ++i) {
    receive_bare(socket, identity, frame);
    socket.send(identity, zmq::send_flags::sndmore);
    socket.send(buffer_of(answer), zmq::send_flags::none);
  }
}

// Polls and drains as the live world does.
void drain(WorkloadEndpoint& endpoint, const Clock& clock, EventBuffer& events) {
  zmq::pollitem_t item{endpoint.socket().handle(), 0, ZMQ_POLLIN, 0};
  if (zmq::poll(&item, 1, std::chrono::milliseconds(kGiveUpMs)) == 0) {
    throw std::runtime_error("client is silent");
  }
  std::size_t budget = kMaxEventsPerTick;
  events.clear();
  endpoint.drain(clock, budget, events);
}

// Answers each report with a command.
void serve_bridge(WorkloadEndpoint& endpoint, const Clock& clock, std::uint32_t& set) {
  EventBuffer events;
  for (int served = 0; served < kRoundTripsPerBlock;) {
    drain(endpoint, clock, events);
    for (const Event& event : events) {
      if (event.type != EventType::minibatch) continue;
      endpoint.command(event.handle, {++set, 32, Run::both});
      ++served;
    }
  }
}

void run_daemon(const Endpoints& endpoints) {
  const SteadyClock clock;
  zmq::context_t context(1);
  SessionOptions options;
  options.allowed_user = ::geteuid();
  options.silent_after = std::chrono::hours(1);
  options.messages = TokenBucket(1024, std::chrono::nanoseconds(100));  // faster than any trainer
  WorkloadEndpoint endpoint(context, endpoints.bridge, options);
  zmq::socket_t bare(context, zmq::socket_type::router);
  bare.set(zmq::sockopt::rcvtimeo, kGiveUpMs);
  bare.bind(endpoints.bare);
  wire::FrameBuffer answer;
  wire::pack(answer, set_of(1));
  EventBuffer events;
  while (events.empty()) drain(endpoint, clock, events);  // the hello
  std::uint32_t set = 0;
  for (int block = 0; block < kBlocks + kWarmUpBlocks; ++block) {
    serve_bare(bare, answer.view());
    serve_bridge(endpoint, clock, set);
  }
  // Stays until the client has its last answer.
  zmq::message_t identity, frame;
  receive_bare(bare, identity, frame);
}

// The trainer's process.

class Trainer {
 public:
  explicit Trainer(const Endpoints& endpoints)
      : bare_(connect(endpoints.bare)), bridge_(connect(endpoints.bridge)) {
    wire::pack(bare_request_, report_of(1));
    send(bridge_, hello());
    zmq::message_t frame;
    wire::DaemonMessage message;
    if (!bridge_.recv(frame) || wire::decode(frame.to_string_view(), message) ||
        !std::holds_alternative<wire::Welcome>(message)) {
      throw std::runtime_error("the daemon did not welcome us");
    }
  }

  void ping_bare() {
    zmq::message_t frame;
    bare_.send(buffer_of(bare_request_.view()), zmq::send_flags::none);
    if (!bare_.recv(frame)) throw std::runtime_error("the bare socket is silent");
  }

  // One more message, which ends the daemon's process.
  void leave() { bare_.send(buffer_of(bare_request_.view()), zmq::send_flags::none); }

  void report() {
    send(bridge_, report_of(++sequence_));
    zmq::message_t frame;
    wire::DaemonMessage message;
    if (!bridge_.recv(frame) || wire::decode(frame.to_string_view(), message) ||
        !std::holds_alternative<wire::Set>(message)) {
      throw std::runtime_error("the daemon did not answer with a set");
    }
  }

 private:
  zmq::socket_t connect(const std::string& endpoint) {
    zmq::socket_t socket(context_, zmq::socket_type::dealer);
    socket.set(zmq::sockopt::linger, 1000);
    socket.set(zmq::sockopt::rcvtimeo, kGiveUpMs);
    socket.connect(endpoint);
    return socket;
  }
  template <typename Message>
  void send(zmq::socket_t& socket, const Message& message) {
    wire::pack(buffer_, message);
    socket.send(buffer_of(buffer_.view()), zmq::send_flags::none);
  }

  zmq::context_t context_{1};
  zmq::socket_t bare_;
  zmq::socket_t bridge_;
  wire::FrameBuffer bare_request_;
  wire::FrameBuffer buffer_;
  std::uint64_t sequence_ = 0;
};

template <typename RoundTrip>
void measure(RoundTrip round_trip, std::vector<double>& times_us) {
  for (int i = 0; i < kRoundTripsPerBlock; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    round_trip();
    const auto end = std::chrono::steady_clock::now();
    times_us.push_back(std::chrono::duration<double, std::micro>(end - begin).count());
  }
}

double quantile(std::vector<double>& values, double share) {
  const auto at =
      values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

void run_trainer(const Endpoints& endpoints) {
  Trainer trainer(endpoints);
  std::vector<double> bare_us, bridge_us;
  for (int block = 0; block < kBlocks + kWarmUpBlocks; ++block) {
    if (block == kWarmUpBlocks) {
      bare_us.clear();
      bridge_us.clear();
    }
    measure([&] { trainer.ping_bare(); }, bare_us);
    measure([&] { trainer.report(); }, bridge_us);
  }
  trainer.leave();
  const double bare = quantile(bare_us, 0.5);
  const double bridge = quantile(bridge_us, 0.5);
  std::printf("round trips      %zu of each, one core, ipc\n", bare_us.size());
  std::printf("bare ZeroMQ      p50 %6.2f us   p99 %6.2f us\n", bare, quantile(bare_us, 0.99));
  std::printf("through bridge   p50 %6.2f us   p99 %6.2f us\n", bridge, quantile(bridge_us, 0.99));
  std::printf("ratio of p50     %.3f   (goal: at most 1.3)\n", bridge / bare);
}

void pin_to_one_core() {
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
    throw std::runtime_error("sched_getaffinity failed");
  }
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &allowed)) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    if (::sched_setaffinity(0, sizeof one, &one) == 0) return;
  }
  throw std::runtime_error("cannot pin to one core");
}

int run() {
  pin_to_one_core();  // before any thread exists, so that ZeroMQ's are pinned too
  std::string folder = "/tmp/gearshift-bench-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) throw std::runtime_error("cannot make a folder");
  const Endpoints endpoints{"ipc://" + folder + "/bridge.ipc", "ipc://" + folder + "/bare.ipc"};
  const pid_t daemon = ::fork();
  if (daemon < 0) throw std::runtime_error("cannot fork");
  if (daemon == 0) {
    try {
      run_daemon(endpoints);
      ::_exit(0);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "bridge_bench: daemon: %s\n", error.what());
      ::_exit(1);
    }
  }
  run_trainer(endpoints);
  int status = 0;
  ::waitpid(daemon, &status, 0);
  for (const char* name : {"/bridge.ipc", "/bare.ipc"}) ::unlink((folder + name).c_str());
  ::rmdir(folder.c_str());
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : 1;
}

}  // namespace
}  // namespace gearshift

int main() {
  try {
    return gearshift::run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bridge_bench: %s\n", error.what());
    return 1;
  }
}
