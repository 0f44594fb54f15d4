// Trains one LeNet and serves another on one accelerator, requests before training: what a C++
// server looks like that is built on libtorch and attached to gearshift.
//
//   lenet_interleaved [SECONDS [REQUESTS_A_SECOND [LATENCY_MS]]]        default: 20 60 100
//
// A thread sends requests as a Poisson process would; it sleeps until each is due, and latencies
// count from then on.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bridge/client/examples/lenet.h"
#include "bridge/client/gearshift_interleaver.hpp"

namespace {

using gearshift::client::RequestNotServed;
using gearshift::examples::Image;
using gearshift::examples::Lenet;
using Clock = std::chrono::steady_clock;
using Server = gearshift::client::Interleaver<Image, std::pair<int, Clock::time_point>>;

constexpr std::int32_t kTrainBatchSize = 16;

struct Given {
  double seconds = 20;
  double requests_per_s = 60;
  double latency_ms = 100;
};

struct Sent {
  Clock::time_point due;
  std::future<std::pair<int, Clock::time_point>> answer;
};

std::vector<Sent> send_requests(Server& server, const Given& given, Clock::time_point began) {
  std::mt19937_64 engine(7);
  const auto uniform = [&engine] {
    return (static_cast<double>(engine() >> 11U) + 1) * 0x1p-53;  // above 0, at most 1
  };
  std::vector<Sent> sent;
  const Image image(gearshift::examples::kImageSide * gearshift::examples::kImageSide, 0.5F);
  for (double at = 0;;) {
    at += -std::log(uniform()) / given.requests_per_s;
    if (at >= given.seconds) return sent;
    const auto due =
        began + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(at));
    std::this_thread::sleep_until(due);
    sent.push_back({due, server.submit(image)});
  }
}

void print(std::vector<Sent>& sent, const Given& given, const Server& server) {
  std::vector<double> latencies_ms;
  std::size_t refused = 0;
  for (Sent& one : sent) {
    // What waits when the time is over is neither answered nor late.
    if (one.answer.wait_for(Clock::duration(0)) != std::future_status::ready) continue;
    try {
      const auto answered = one.answer.get().second;
      latencies_ms.push_back(std::chrono::duration<double, std::milli>(answered - one.due).count());
    } catch (const RequestNotServed&) {
      ++refused;
    }
  }
  std::sort(latencies_ms.begin(), latencies_ms.end());
  const auto quantile = [&latencies_ms](std::size_t percent) {
    const std::size_t count = latencies_ms.size();
    return count == 0 ? 0.0 : latencies_ms[(percent * count + 99) / 100 - 1];
  };
  const auto in_time = std::upper_bound(latencies_ms.begin(), latencies_ms.end(), given.latency_ms);
  const auto late = static_cast<std::size_t>(latencies_ms.end() - in_time) + refused;
  std::printf(
      "%zu requests: latency p50 %.1f ms, p95 %.1f ms, p99 %.1f ms, max %.1f ms; %zu late, %zu of "
      "them refused or dropped\n",
      latencies_ms.size() + refused, quantile(50), quantile(95), quantile(99), quantile(100), late,
      refused);
  std::printf("%lld training minibatches, %.1f a second\n",
              static_cast<long long>(server.train_minibatches()),
              static_cast<double>(server.train_minibatches()) / given.seconds);
}

// What the daemon says to people, or why there is none.
void tell(gearshift::client::Workload& workload) {
  const std::string message = workload.take_message();
  if (!message.empty()) std::fprintf(stderr, "lenet_interleaved: %s\n", message.c_str());
}

}  // namespace

int main(int count, char** arguments) {
  Given given;
  double* const numbers[] = {&given.seconds, &given.requests_per_s, &given.latency_ms};
  for (int i = 1; i < count; ++i) {
    char* end = nullptr;
    const double value = i <= 3 ? std::strtod(arguments[i], &end) : 0;
    if (end == nullptr || *end != '\0' || !(value > 0 && value < 1e6)) {
      std::fprintf(stderr, "usage: lenet_interleaved [SECONDS [REQUESTS_A_SECOND [LATENCY_MS]]]\n");
      return 2;
    }
    *numbers[i - 1] = value;
  }
  Lenet::use_threads(1);
  Lenet trained(1);
  Lenet served(2);
  gearshift::client::InterleaverOptions options;
  options.name = "lenet";
  options.latency = std::chrono::nanoseconds(std::llround(given.latency_ms * 1e6));
  options.batch_size = 4;
  options.batch_sizes = {1, 2, 4, 8, 16, 32};
  options.train_batch_size = kTrainBatchSize;
  Server server(
      options,
      [&trained] {
        trained.train(kTrainBatchSize);
        return true;
      },
      [&served](const std::vector<Image>& images) {
        std::vector<std::pair<int, Clock::time_point>> answers;
        const std::vector<int> classes = served.answer(images);
        const Clock::time_point now = Clock::now();
        for (const int one : classes) answers.emplace_back(one, now);
        return answers;
      });
  const Clock::time_point began = Clock::now();
  const auto end = began + std::chrono::duration_cast<Clock::duration>(
                               std::chrono::duration<double>(given.seconds));
  std::vector<Sent> sent;
  std::thread sender([&] { sent = send_requests(server, given, began); });
  server.run([end, &server] {
    tell(server.trainer());
    tell(server.server());
    return Clock::now() >= end;
  });
  sender.join();
  print(sent, given, server);
  return 0;
}
