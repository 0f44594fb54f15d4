// Reads the battery of an uninterruptible power supply from the daemon of Network UPS Tools.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/battery.h"
#include "controller/clock.h"
#include "controller/sensor.h"

namespace gearshift {

struct NutAddress {
  std::string ups{};  // empty: the first that the daemon lists
  std::string host = "127.0.0.1";
  std::string port = "3493";
};

// "ups@192.168.1.2:3493", of which the name and the port may be left out; an IPv6 address stands in
// brackets. Throws std::invalid_argument that says what is allowed.
NutAddress parse_nut_address(std::string_view text);

// One line of the answer to LIST VAR: VAR ups name "value"; nullopt for any other.
struct NutVariable {
  std::string name;
  std::string value;
};
std::optional<NutVariable> parse_nut_variable(std::string_view line);

// Emits battery_energy, battery_capacity and battery_voltage: charge in percent times the capacity
// given, else times battery.capacity (Ah) and the nominal voltage. Speaks the text protocol of RFC
// 9271 over a socket that never blocks: it asks once every two seconds, and takes what has come.
// An answer older than 10 s, and what cannot be (a charge outside 0 to 100), is missing or absurd.
class NutBattery : public Sensor {
 public:
  // Connects within half a second, and waits as long for the first answer. Null where no daemon
  // answers, or nothing tells a capacity; `findings` says which.
  static std::unique_ptr<NutBattery> open(const NutAddress& address,
                                          std::optional<double> capacity_wh,
                                          std::vector<std::string>& findings);
  ~NutBattery() override;
  NutBattery(const NutBattery&) = delete;
  NutBattery& operator=(const NutBattery&) = delete;

  bool has_voltage() const { return shows_voltage_; }

  void read(Time now, std::vector<Reading>& readings) override;
  std::string explain(const Reading& reading) const override;

 private:
  NutBattery(NutAddress address, std::optional<double> capacity_wh);

  void connect();
  void close();
  void ask();
  bool await(int timeout_ms);
  void take();
  void take_line(std::string_view line);
  void end_list();
  std::optional<double> capacity_wh() const;

  const NutAddress address_;
  const std::optional<double> given_wh_;
  std::string ups_;
  int socket_ = -1;
  std::string pending_;  // bytes of a line that has not ended
  std::string error_;    // of the daemon or of the socket; empty: none
  // What one answer tells of the battery.
  struct Answer {
    std::optional<double> charge_percent;
    std::optional<double> voltage_v;
    std::optional<double> nominal_v;
    std::optional<double> capacity_ah;
  };
  Answer answer_;                  // the newest whole one
  Answer incoming_;                // whose end has not come
  std::optional<double> told_wh_;  // the capacity, of the newest answer that told one
  bool shows_voltage_ = false;     // an answer ever had one
  bool answered_ = false;          // a whole list since it was last looked at
  std::optional<Time> asked_;
  std::optional<Time> heard_;
};

}  // namespace gearshift
