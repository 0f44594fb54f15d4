// The files of a board with one knob, the GPU's clock, that are set by the code of real boards.
#pragma once

#include <string>
#include <string_view>

#include "boards/board_description.h"
#include "tests/fakes/temp_tree.h"

namespace gearshift::fakes {

struct OneKnobBoard {
  static constexpr std::string_view kFolder = "/sys/class/devfreq/17000000.gpu/";

  explicit OneKnobBoard(std::string_view min_freq, std::string_view max_freq) {
    put("available_frequencies", "306000000 612000000 1300500000");
    put("min_freq", min_freq);
    put("max_freq", max_freq);
    description.id = "one-knob";
    description.knobs.push_back({{"gpu_mhz", Unit::khz, KnobClass::clock, {1}},
                                 KnobDriver::gpu_devfreq,
                                 "/sys/class/devfreq",
                                 {"gpu"}});
  }

  void put(std::string_view file, std::string_view text) const { tree.put(path(file), text); }
  std::string get(std::string_view file) const { return tree.get(path(file)); }

  TempTree tree;
  BoardDescription description;

 private:
  static std::string path(std::string_view file) { return std::string(kFolder).append(file); }
};

}  // namespace gearshift::fakes
