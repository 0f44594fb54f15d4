// GPUs for tests of this process: points it at the fake NVML library, whose answers are files.
#pragma once

#include <stdlib.h>

#include <string>
#include <string_view>

#include "boards/board_description.h"
#include "tests/fakes/temp_tree.h"

namespace gearshift::fakes {

// What the files mean stands in fake_nvml.cpp.
class FakeGpus {
 public:
  FakeGpus() {
    setenv("GEARSHIFT_NVML", FAKE_NVML, 1);
    setenv("GEARSHIFT_FAKE_NVML", tree_.root().c_str(), 1);
  }
  ~FakeGpus() {
    unsetenv("GEARSHIFT_NVML");
    unsetenv("GEARSHIFT_FAKE_NVML");
  }
  FakeGpus(const FakeGpus&) = delete;
  FakeGpus& operator=(const FakeGpus&) = delete;

  // A server GPU of 100 to 300 W that answers everything.
  void add(int index = 0) {
    const auto file = [&](const std::string& name, std::string_view text) {
      put(name, text, index);
    };
    file("uuid", "GPU-" + std::to_string(index) + "0000000-aaaa");
    file("name", "Fake A100");
    file("capability", "8 0");
    file("power_instant", "60000");
    file("energy_mj", "5000");
    file("limit_mw", "250000");
    file("limit_default_mw", "250000");
    file("limit_range_mw", "100000 300000");
    file("memory_clocks", "1593 1215 405");
    file("graphics_clocks", "1410 1200 900 600 300");
    file("graphics_clocks_405", "300");
    file("gpu_clock", "300");
    file("memory_clock", "405");
    file("reasons", "1");
  }
  void put(const std::string& name, std::string_view text, int index = 0) {
    tree_.put(path(name, index), text);
  }
  void remove(const std::string& name, int index = 0) { tree_.remove(path(name, index)); }
  std::string get(const std::string& name, int index = 0) { return tree_.get(path(name, index)); }
  // Of the library.
  void put_init(std::string_view text) { tree_.put("/init", text); }
  void reload_driver() { tree_.put("/reloaded", ""); }

 private:
  static std::string path(const std::string& name, int index) {
    return "/gpu" + std::to_string(index) + '/' + name;
  }

  TempTree tree_;
};

inline const BoardDescription& gpu_board() { return *find_board("nvidia-gpu", built_in_boards()); }

}  // namespace gearshift::fakes
