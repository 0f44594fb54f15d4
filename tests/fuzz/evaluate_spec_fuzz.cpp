// Feeds arbitrary bytes to the spec of `gearshift evaluate`: it is taken, or refused with an error
// (a number that no option takes is an invalid argument there, as on the command line).
#include <cstdint>
#include <stdexcept>
#include <string_view>

#include "cli/evaluate_options.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  CLI::App command;
  gearshift::EvaluateOptions options;
  gearshift::add_evaluate_flags(command, options);
  options.spec = "fuzz.toml";
  try {
    gearshift::apply_evaluate_spec({reinterpret_cast<const char*>(data), size}, command, options);
    gearshift::check_evaluate_options(options);
    gearshift::make_problems(options);
  } catch (const std::runtime_error&) {
  } catch (const std::invalid_argument&) {
  }
  return 0;
}
