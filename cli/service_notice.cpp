#include "cli/service_notice.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "cli/boottime_clock.h"
#include "controller/status.h"

namespace gearshift {
namespace {

std::optional<std::int64_t> integer_of(const char* text) {
  if (text == nullptr) return std::nullopt;
  std::int64_t value = 0;
  const char* const end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

}  // namespace

bool WatchdogFeed::due(Time now) {
  const bool late = newest_ && now - *newest_ > most_gap_;
  newest_ = now;
  if (late || (fed_ && now - *fed_ < interval_)) return false;
  fed_ = now;
  return true;
}

ServiceNotice ServiceNotice::from_environment() {
  const char* const socket = std::getenv("NOTIFY_SOCKET");
  const auto watchdog_us = integer_of(std::getenv("WATCHDOG_USEC"));
  const auto watched = integer_of(std::getenv("WATCHDOG_PID"));
  const bool ours = watchdog_us && *watchdog_us > 0 && (!watched || *watched == getpid());
  std::optional<Duration> watchdog;
  if (ours) watchdog = std::chrono::microseconds(*watchdog_us);
  return ServiceNotice(socket != nullptr ? socket : "", watchdog);
}

ServiceNotice::ServiceNotice(std::string_view socket, std::optional<Duration> watchdog)
    : address_(socket) {
  const bool named = address_.starts_with('/') || address_.starts_with('@');
  if (!named || address_.size() >= sizeof(sockaddr_un::sun_path)) return;
  if (address_[0] == '@') address_[0] = '\0';
  descriptor_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (descriptor_ >= 0) watchdog_ = watchdog;
}

ServiceNotice::~ServiceNotice() {
  if (descriptor_ >= 0) close(descriptor_);
}

void ServiceNotice::send(const std::string& words) const {
  if (descriptor_ < 0) return;
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  std::memcpy(to.sun_path, address_.data(), address_.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size());
  // A service manager that is busy or gone is no reason to wait.
  sendto(descriptor_, words.data(), words.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
         reinterpret_cast<const sockaddr*>(&to), size);
}

NoticedWorld::NoticedWorld(World& world, const ServiceNotice& notice)
    : world_(world), notice_(notice) {
  if (notice.watchdog()) feed_.emplace(*notice.watchdog());
}

Time NoticedWorld::wait_until(Time deadline, EventBuffer& events) {
  const std::size_t first = events.size();
  if (reloading_) notice_.send("READY=1");  // the tick that took the new script is over
  reloading_ = false;
  const Time now = world_.wait_until(deadline, events);
  if (!ready_) notice_.send("READY=1");
  ready_ = true;
  if (feed_ && feed_->due(now)) notice_.send("WATCHDOG=1");
  for (std::size_t i = first; i < events.size(); ++i) {
    if (events[i].type != EventType::script_changed || events[i].signal != SIGHUP) continue;
    reloading_ = true;
    const auto since_boot =
        std::chrono::duration_cast<std::chrono::microseconds>(monotonic_since_boot());
    notice_.send("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(since_boot.count()));
  }
  return now;
}

void NoticedWorld::publish(const Status& status) {
  world_.publish(status);
  if (phase_ == status.phase) return;
  phase_ = status.phase;
  notice_.send("STATUS=" + std::string(phase_name(status.phase)));
}

}  // namespace gearshift
