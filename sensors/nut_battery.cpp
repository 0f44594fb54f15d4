#include "sensors/nut_battery.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace gearshift {
namespace {

constexpr Duration kAskPeriod = std::chrono::seconds(2);
constexpr Duration kStaleAfter = std::chrono::seconds(10);
constexpr int kPatienceMs = 500;
constexpr std::size_t kMostPending = 64 * 1024;
constexpr int kMostTaken = 16;  // of 4 KiB each, in one tick: a flood waits for the next
constexpr int kMostLooks = 32;
constexpr double kMostValue = 1e6;  // no battery has so many percent, volts or ampere hours

std::optional<double> number(const std::string& text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  if (!(std::abs(value) <= kMostValue)) return std::nullopt;  // nor is what is not a number
  return value;
}

// What another machine says, for people to read: without what would move their terminal.
std::string printable(std::string_view text) {
  std::string shown(text.substr(0, 64));
  const auto hidden = [](char c) { return c < ' ' || c > '~'; };
  std::replace_if(shown.begin(), shown.end(), hidden, '?');
  return shown;
}

// The first word; `rest` is what follows it.
std::string_view first_word(std::string_view line, std::string_view& rest) {
  const std::size_t space = line.find(' ');
  rest = space == std::string_view::npos ? std::string_view() : line.substr(space + 1);
  return line.substr(0, space);
}

}  // namespace

NutAddress parse_nut_address(std::string_view text) {
  NutAddress address;
  const std::string_view whole = text;
  if (const std::size_t at = text.find('@'); at != std::string_view::npos) {
    address.ups = text.substr(0, at);
    text.remove_prefix(at + 1);
  }
  const std::size_t bracket = text.rfind(']');
  const std::size_t colon = text.rfind(':');
  const bool has_port =
      colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket);
  if (has_port) {
    address.port = text.substr(colon + 1);
    text = text.substr(0, colon);
  }
  if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
  if (!text.empty()) address.host = text;
  constexpr std::uint32_t kMostPort = 65535;
  std::uint32_t port = 0;
  const char* const port_end = address.port.data() + address.port.size();
  const auto [end, error] = std::from_chars(address.port.data(), port_end, port);
  const bool numeric = error == std::errc() && end == port_end && port >= 1 && port <= kMostPort;
  in6_addr bytes{};
  const bool known = ::inet_pton(AF_INET, address.host.c_str(), &bytes) == 1 ||
                     ::inet_pton(AF_INET6, address.host.c_str(), &bytes) == 1;
  if (numeric && known && address.ups.find_first_of(" \"\n") == std::string::npos) return address;
  throw std::invalid_argument(
      "'" + std::string(whole) +
      "' is no [UPS@]ADDRESS[:PORT] with a numeric address and a port of 1 to 65535, like "
      "ups@127.0.0.1:3493");
}

std::optional<NutVariable> parse_nut_variable(std::string_view line) {
  std::string_view rest;
  if (first_word(line, rest) != "VAR") return std::nullopt;
  first_word(rest, rest);
  NutVariable variable{std::string(first_word(rest, rest)), {}};
  if (variable.name.empty() || rest.size() < 2 || rest.front() != '"' || rest.back() != '"') {
    return std::nullopt;
  }
  rest = rest.substr(1, rest.size() - 2);
  for (std::size_t i = 0; i < rest.size(); ++i) {
    if (rest[i] == '\\' && i + 1 < rest.size()) ++i;
    variable.value += rest[i];
  }
  return variable;
}

NutBattery::NutBattery(NutAddress address, std::optional<double> capacity_wh)
    : address_(std::move(address)), given_wh_(capacity_wh), ups_(address_.ups) {}

NutBattery::~NutBattery() { close(); }

void NutBattery::close() {
  if (socket_ >= 0) ::close(socket_);
  socket_ = -1;
  pending_.clear();
  incoming_ = {};
}

// Begins to; where it cannot be, the socket says so when it is used.
void NutBattery::connect() {
  close();
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (::getaddrinfo(address_.host.c_str(), address_.port.c_str(), &hints, &found) != 0) {
    error_ = "no numeric address";
    return;
  }
  socket_ = ::socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const bool begun = socket_ >= 0 && (::connect(socket_, found->ai_addr, found->ai_addrlen) == 0 ||
                                      errno == EINPROGRESS);
  if (!begun) {
    error_ = std::strerror(errno);
    close();
  }
  ::freeaddrinfo(found);
}

void NutBattery::ask() {
  const std::string request = ups_.empty() ? "LIST UPS\n" : "LIST VAR " + ups_ + "\n";
  const ssize_t sent = ::send(socket_, request.data(), request.size(), MSG_NOSIGNAL);
  if (sent == static_cast<ssize_t>(request.size())) return;
  if (sent < 0 && errno == EAGAIN) return;
  error_ = sent < 0 ? std::strerror(errno) : "the connection takes no more";
  close();
}

void NutBattery::take() {
  char bytes[4096];
  for (int taken = 0; taken < kMostTaken && socket_ >= 0; ++taken) {
    const ssize_t size = ::recv(socket_, bytes, sizeof bytes, 0);
    if (size < 0 && errno == EAGAIN) return;
    if (size <= 0) {
      error_ = size < 0 ? std::strerror(errno) : "the daemon has closed the connection";
      close();
      return;
    }
    pending_.append(bytes, static_cast<std::size_t>(size));
    for (std::size_t end = pending_.find('\n'); end != std::string::npos;
         end = pending_.find('\n')) {
      take_line(std::string_view(pending_).substr(0, end));
      pending_.erase(0, end + 1);
    }
    if (pending_.size() > kMostPending) {
      error_ = "a line without an end";
      close();
    }
  }
}

void NutBattery::take_line(std::string_view line) {
  if (line.starts_with("ERR ")) {
    error_ = printable(line.substr(4));
    answer_ = {};
    incoming_ = {};
    return;
  }
  if (line.starts_with("UPS ") && ups_.empty()) {
    std::string_view rest;
    ups_ = printable(first_word(line.substr(4), rest));
    return;
  }
  if (line.starts_with("BEGIN LIST VAR ")) {
    incoming_ = {};
    return;
  }
  if (line.starts_with("END LIST VAR ")) {
    end_list();
    return;
  }
  const auto variable = parse_nut_variable(line);
  if (!variable) return;
  const std::optional<double> value = number(variable->value);
  if (variable->name == "battery.charge") incoming_.charge_percent = value;
  if (variable->name == "battery.voltage") incoming_.voltage_v = value;
  if (variable->name == "battery.voltage.nominal") incoming_.nominal_v = value;
  if (variable->name == "battery.capacity") incoming_.capacity_ah = value;
}

// A driver may have lost what it told before: nothing of an older answer stays, but the size of a
// battery, which does not change.
void NutBattery::end_list() {
  answer_ = std::exchange(incoming_, {});
  answered_ = answer_.charge_percent.has_value();
  error_ = answered_ ? "" : "no battery.charge";
  shows_voltage_ = shows_voltage_ || answer_.voltage_v;
  const auto voltage_v = answer_.nominal_v ? answer_.nominal_v : answer_.voltage_v;
  if (answer_.capacity_ah.value_or(0) > 0 && voltage_v.value_or(0) > 0) {
    told_wh_ = *answer_.capacity_ah * *voltage_v;
  }
}

std::optional<double> NutBattery::capacity_wh() const { return given_wh_ ? given_wh_ : told_wh_; }

bool NutBattery::await(int timeout_ms) {
  pollfd one{socket_, POLLIN, 0};
  return socket_ >= 0 && ::poll(&one, 1, timeout_ms) > 0;
}

std::unique_ptr<NutBattery> NutBattery::open(const NutAddress& address,
                                             std::optional<double> capacity_wh,
                                             std::vector<std::string>& findings) {
  std::unique_ptr<NutBattery> battery(new NutBattery(address, capacity_wh));
  const std::string place = "battery: Network UPS Tools at " + address.host + ":" + address.port;
  battery->connect();
  pollfd connecting{battery->socket_, POLLOUT, 0};
  if (battery->socket_ >= 0) ::poll(&connecting, 1, kPatienceMs);
  // The name of the UPS, and then its variables.
  for (int question = 0; question < 2 && battery->socket_ >= 0 && !battery->answered_; ++question) {
    battery->ask();
    const bool named = !battery->ups_.empty();
    for (int looks = 0; looks < kMostLooks && battery->await(kPatienceMs); ++looks) {
      battery->take();
      if (battery->answered_ || !battery->error_.empty() || (!named && !battery->ups_.empty()))
        break;
    }
  }
  if (!battery->answered_) {
    findings.push_back(place + ": " +
                       (battery->error_.empty() ? "no battery.charge" : battery->error_));
    return nullptr;
  }
  if (!battery->capacity_wh()) {
    findings.push_back(place + ": " + battery->ups_ +
                       " does not tell its capacity; give it, for example --battery 100Wh");
    return nullptr;
  }
  findings.push_back(place + ": " + battery->ups_);
  return battery;
}

void NutBattery::read(Time now, std::vector<Reading>& readings) {
  // An answer is as old as its question, however late it is taken.
  take();
  if (std::exchange(answered_, false)) heard_ = asked_.value_or(now);
  if (!asked_ || now - *asked_ >= kAskPeriod) {
    asked_ = now;
    if (socket_ < 0) connect();
    if (socket_ >= 0) ask();
  }
  const auto append = [&](Quantity quantity, std::optional<double> value, double scale) {
    Reading reading{quantity, ReadingState::missing, false, 0, 0, now};
    if (value && heard_ && now - *heard_ <= kStaleAfter) {
      reading.state = ReadingState::ok;
      reading.value = std::llround(*value * scale);
      reading.taken = *heard_;
    }
    readings.push_back(reading);
  };
  const std::optional<double> capacity = capacity_wh();
  std::optional<double> energy;
  const std::optional<double>& percent = answer_.charge_percent;
  if (percent && capacity) energy = *percent / 100 * *capacity;
  append(Quantity::battery_energy, energy, 3.6e6);
  if (energy && (*percent < 0 || *percent > 100)) {
    readings.back().state = ReadingState::absurd;
  }
  append(Quantity::battery_capacity, capacity, 3.6e6);
  if (shows_voltage_) append(Quantity::battery_voltage, answer_.voltage_v, 1000);
}

std::string NutBattery::explain(const Reading& reading) const {
  if (reading.quantity < Quantity::battery_energy || reading.state == ReadingState::ok) return "";
  const std::string place = "battery " + ups_ + " at " + address_.host + ":" + address_.port + ": ";
  if (reading.state == ReadingState::absurd) return place + "a charge outside 0 to 100 %";
  if (!error_.empty()) return place + error_;
  const bool lost = reading.quantity == Quantity::battery_voltage && !answer_.voltage_v;
  return place + (lost && answer_.charge_percent ? "no battery.voltage" : "no answer");
}

}  // namespace gearshift
