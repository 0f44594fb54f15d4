// A virtual AGX Orin in virtual time, for tests.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "boards/board_description.h"
#include "simulator/board_state.h"
#include "tests/fakes/built_in_board.h"

namespace gearshift {

// Of the AGX Orin.
inline constexpr ModelMode kHighestMode{
    .cpu_cores = 12, .cpu_ghz = 2.2016, .gpu_ghz = 1.3005, .mem_ghz = 3.199};

class VirtualBoard : public ::testing::Test {
 protected:
  static constexpr const char* kCpu = "/sys/devices/system/cpu/";
  static constexpr const char* kGpu = "/sys/class/devfreq/17000000.gpu/";
  static constexpr const char* kMemory = "/sys/kernel/debug/bpmp/debug/clk/emc/";

  // Begins anew with these options.
  void boot(const BoardStateOptions& options, std::string_view id = "jetson-agx-orin") {
    board_ = std::make_unique<BoardState>(built_in_board(id), options);
    now_ = Time(std::chrono::hours(1));
    board_->advance(now_);
  }
  void SetUp() override { boot({.noise = 0}); }

  void wait(Duration duration) { board_->advance(now_ += duration); }
  std::string read(const std::string& path) {
    const FileText text = board_->read(path);
    EXPECT_EQ(text.error, 0) << path;
    return std::string(trimmed_text(text.text));
  }
  std::int64_t number(const std::string& path) {
    const auto value = whole_integer(read(path));
    EXPECT_TRUE(value) << path;
    return value.value_or(0);
  }
  int error_of(const std::string& path) { return board_->read(path).error; }
  int write(const std::string& path, std::string_view text) { return board_->write(path, text); }
  int write_fault(const std::string& name, std::string_view value) {
    return board_->write("/.virtual/faults/" + name, value);
  }
  LoadHandle start_load(std::string_view line = "pid=7 name=resnet18 batch_size=16") {
    const LoadHandle handle = board_->open_load();
    EXPECT_EQ(board_->write_load(handle, line), 0);
    return handle;
  }

  // The folder of the monitor at this i2c address, wherever its number is.
  std::string monitor(const std::string& address) {
    const std::string folder = "/sys/bus/i2c/devices/" + address + "/hwmon";
    const auto names = board_->list(folder);
    EXPECT_TRUE(names && names->size() == 1) << folder;
    return folder + '/' + names->front() + '/';
  }
  // Watts as a driver computes them: the sum of the three rails of 0x40.
  double sensed_mw() {
    const std::string folder = monitor("1-0040");
    double sum = 0;
    for (const char* channel : {"1", "2", "3"}) {
      sum += static_cast<double>(number(folder + "in" + channel + "_input") *
                                 number(folder + "curr" + channel + "_input")) /
             1000;
    }
    return sum;
  }

  std::unique_ptr<BoardState> board_;
  Time now_{};
};

}  // namespace gearshift
