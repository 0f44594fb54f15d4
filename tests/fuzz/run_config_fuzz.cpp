// Feeds arbitrary bytes to the config file of `gearshift run`: it is taken, or refused with an
// error.
#include <cstdint>
#include <stdexcept>
#include <string_view>

#include "cli/run_options.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  CLI::App command;
  gearshift::RunOptions options;
  gearshift::add_run_flags(command, options);
  options.config = "fuzz.toml";
  try {
    gearshift::apply_run_config({reinterpret_cast<const char*>(data), size}, command, options);
    gearshift::make_run_plan(options);
  } catch (const std::runtime_error&) {
  }
  return 0;
}
