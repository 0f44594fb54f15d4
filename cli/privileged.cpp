// `gearshift helper`: starts the program that sets a board's knobs for daemons without root. It is
// a program of its own, so that what runs as root has no network, no database and no scripts in it.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/commands.h"

namespace gearshift {
namespace {

// Returns only where it cannot be started.
int start_helper(const std::vector<std::string>& arguments) {
  std::error_code ignored;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", ignored);
  const std::filesystem::path program = self.parent_path() / "gearshift-helper";
  std::vector<std::string> words = {program.string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  execv(program.c_str(), pointers.data());
  std::fprintf(stderr, "gearshift helper: cannot start %s: %s; it belongs beside %s\n",
               program.c_str(), std::strerror(errno), self.c_str());
  return kExitFailed;
}

}  // namespace

void add_helper(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "helper", "Set a board's knobs for a daemon that runs without root (gearshift run --helper)");
  command->set_help_flag();  // the program has its own
  command->prefix_command();
  command->callback([command, &exit_code] { exit_code = start_helper(command->remaining()); });
}

}  // namespace gearshift
