#include "cli/run_endpoints.h"

#include <spdlog/fmt/fmt.h>

#include <stdexcept>

#include "bridge/endpoints.h"
#include "bridge/key_files.h"
#include "cli/state_folder.h"

namespace gearshift {

// Only endpoints that are given reach other machines.
std::filesystem::path keys_of(const RunOptions& options) {
  const std::string& outer =
      reaches_other_machines(options.control) ? options.control : options.listen;
  const bool needed = reaches_other_machines(outer);
  if (options.keys.empty() && !needed) return {};
  const KeyFolder folder(keys_folder(options.keys, options.state));
  if (folder.has_server()) return folder.path();
  const std::string make = fmt::format(
      "make them with gearshift keys server{0}, let clients in with gearshift keys client NAME{0}",
      keys_folder_flag(options.keys, options.state));
  if (!needed) {
    throw std::invalid_argument(fmt::format(
        "--keys {}: there are no keys in it: {}; or leave --keys out: no endpoint here needs them",
        options.keys, make));
  }
  throw std::invalid_argument(fmt::format(
      "endpoint {}: who comes over tcp:// from another machine needs a key, and there are none in "
      "{}: {}; or listen on tcp://127.0.0.1:PORT or ipc://PATH",
      outer, folder.path().string(), make));
}

std::string workload_endpoint_of(const RunOptions& options) {
  return options.listen.empty() ? default_workload_endpoint() : options.listen;
}

std::string control_endpoint_of(const RunOptions& options) {
  return options.control.empty() ? default_control_endpoint() : options.control;
}

const RunOptions& with_usable_endpoints(const RunOptions& options) {
  for (const std::string& endpoint : {options.listen, options.control}) {
    if (endpoint.empty()) continue;
    require_endpoint(endpoint);
    require_bindable(endpoint, Keys::required);  // keys_of says whether there are any
  }
  require_two(workload_endpoint_of(options), control_endpoint_of(options));
  keys_of(options);
  return options;
}

}  // namespace gearshift
