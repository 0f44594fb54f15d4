// Reads a battery that a machine runs on from the kernel's power_supply class.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "boards/sysroot.h"
#include "controller/battery.h"
#include "controller/sensor.h"

namespace gearshift {

// Emits battery_energy, battery_capacity, battery_voltage and battery_current, those that the
// driver has. Energy is energy_now, else charge_now times a voltage, else the percentage of the
// capacity: the first of them that can be read when the battery is opened. Capacity is energy_full,
// else charge_full times that voltage, else as given, else either as designed, else what is left by
// the percentage that it is when the battery is opened; that one is a guess, made anew where the
// energy is over 1.2 times it, or energy and percentage have leapt to another size by as much, for
// ten seconds: another battery. The voltage that makes an energy of a charge is voltage_min_design
// where that can be the battery's (the first voltage_now that can be read is within 0.7 to 1.6
// times it), because it does not sag under a load; else voltage_now. Current is signed by `status`,
// because some drivers show -2 A and others 2 A for the same discharge; where the status is unknown
// it counts as drawn. A quantity whose file fails is missing. Negative energy, energy of nothing in
// a battery that has a voltage, energy over 1.2 times the capacity, and a voltage outside 0.5 to
// 100 V are absurd. While the energy is missing the files of that name are opened anew once a
// second: a battery that was swapped, or whose driver was bound anew, has others. Where another of
// the three tells the energy then, it is taken after ten seconds: they differ, and a change of them
// looks like a drain.
class PowerSupply : public Sensor {
 public:
  // The batteries that power the whole machine: of type Battery, and not of scope Device, as those
  // of mice and telephones are. Those that do not tell their energy are left out; `findings` says
  // what was looked at and why it was passed over: without a capacity there would be no reserve.
  // `capacity_wh`: given by the user, of the first one whose driver does not tell.
  static std::vector<std::unique_ptr<PowerSupply>> open_all(std::optional<double> capacity_wh,
                                                            Sysroot& root,
                                                            std::vector<std::string>& findings);

  std::string name() const { return folder_.substr(folder_.rfind('/') + 1); }
  bool has_voltage() const { return has(File::voltage_now); }

  // Voltage and current each time; the rest once a second, as gauges are asked over slow buses.
  void read(Time now, std::vector<Reading>& readings) override;
  std::string explain(const Reading& reading) const override;

 private:
  enum class File : std::size_t {
    energy_now,
    charge_now,
    percentage,
    energy_full,
    charge_full,
    energy_design,
    charge_design,
    voltage_now,
    voltage_design,
    current_now,
    power_now,
  };
  static constexpr std::size_t kFiles = 11;
  // The three that can tell the energy are the first, best first.
  static constexpr std::array<File, 3> kEnergyFiles = {File::energy_now, File::charge_now,
                                                       File::percentage};

  // Of the full battery, by what is left and a percentage that is off by one at most.
  struct Sizes {
    double least_wh;
    double likely_wh;
    double most_wh;
    bool differ_from(const Sizes& other) const;  // by more than either can be wrong
  };

  PowerSupply(std::string folder, std::optional<double> capacity_wh, Sysroot& root);
  std::optional<double> value(File file);  // in the unit of people: Wh, Ah, %, V, A, W
  bool has(File file) const { return files_[static_cast<std::size_t>(file)].has_value(); }
  void read_slow();
  void open_again(Time now);
  std::optional<double> read_capacity_wh();
  void read_design_voltage();
  std::optional<double> charge_voltage_v() const;
  std::string charge_text() const;
  std::optional<Sizes> sizes_by_percentage();
  void estimate_capacity();
  void estimate_again(Time now);
  bool is_over_capacity(double energy_wh) const;
  std::optional<double> read_energy_wh(File source);
  std::string silent_files() const;
  std::optional<File> file_of(Quantity quantity) const;
  std::string absurdity(const Reading& reading) const;
  std::optional<double> read_current_a();
  Reading reading(Quantity quantity, std::optional<double> value, double scale, Time now) const;

  Sysroot& root_;
  std::string folder_;
  std::optional<double> given_wh_;
  bool takes_given_ = false;  // where its driver tells no full energy
  std::array<std::optional<DeviceFile>, kFiles> files_;
  std::optional<DeviceFile> status_;
  std::optional<Time> slow_read_;
  std::optional<double> capacity_wh_;  // as told last, else by the percentage
  bool capacity_told_ = false;         // now, by a file or the user
  std::optional<File> source_;         // that told the energy first: no other is read
  std::optional<double> energy_wh_;
  std::optional<Sizes> newest_sizes_;  // that followed from those before
  std::optional<Time> another_since_;  // when another size first was all that fits
  std::optional<Time> silent_since_;   // when the energy was missing first
  std::optional<double> voltage_v_;
  std::optional<double> told_design_v_;  // newest, plausible or not
  bool design_judged_ = false;           // by a voltage that was read
  std::optional<double> design_v_;       // the told one, where it can be the battery's
  int error_ = 0;                        // errno of the newest file that failed
};

}  // namespace gearshift
