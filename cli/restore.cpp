// gearshift restore: puts back the knobs that a daemon which was killed had set.
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "actuators/knob_journal.h"
#include "boards/sysroot.h"
#include "cli/commands.h"
#include "cli/state_folder.h"

namespace gearshift {
namespace {

struct RestoreOptions {
  std::string sysroot = "/";
  std::string state;
  bool json = false;
};

void print_json(const RestoreReport& report, const std::string& error) {
  nlohmann::ordered_json object;
  object["restored"] = report.restored;
  object["failed"] = report.failed;
  object["notes"] = report.notes;
  if (!error.empty()) object["error"] = error;
  // A path may hold any byte; what is no UTF-8 is shown as such.
  std::printf("%s\n", object.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

void print_text(const RestoreReport& report) {
  for (const std::string& note : report.notes) std::printf("%s\n", note.c_str());
  for (const std::string& text : report.restored) std::printf("restored  %s\n", text.c_str());
  for (const std::string& text : report.failed) std::printf("FAILED    %s\n", text.c_str());
  if (!report.failed.empty()) {
    std::printf("%zu of %zu could not be put back; the journal is kept\n", report.failed.size(),
                report.failed.size() + report.restored.size());
  }
}

int restore(const RestoreOptions& options) {
  RestoreReport report;
  std::string error;
  int exit_code = kExitOk;
  try {
    Sysroot root(options.sysroot);
    report = restore_from_journal(root, journal_path(state_folder_of(options.state)));
    if (!report.failed.empty()) exit_code = kExitFailed;
  } catch (const BusyError& busy) {
    error = busy.what();
    exit_code = kExitBusy;
  } catch (const std::exception& failure) {
    error = failure.what();
    exit_code = kExitFailed;
  }
  if (options.json) {
    print_json(report, error);
  } else {
    print_text(report);
    if (!error.empty()) std::fprintf(stderr, "gearshift restore: %s\n", error.c_str());
  }
  return exit_code;
}

}  // namespace

void add_restore(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<RestoreOptions>();
  CLI::App* command = app.add_subcommand(
      "restore", "Put knobs back after a daemon was killed together with its guardian process");
  command
      ->add_option("--sysroot", options->sysroot, "prefix of the board's files, as the run had it")
      ->check(CLI::ExistingDirectory)
      ->capture_default_str();
  command->add_option("--state", options->state,
                      std::string("folder of the knob journal; ") + kStateFolderDefault);
  command->add_flag("--json", options->json, "one JSON object instead of text");
  command->footer(
      "Every knob is put back as it was before the run. A run that ends in any other way does it "
      "by\n"
      "itself, its guardian where it was killed alone, and the next run where nobody else did.\n"
      "Example: gearshift restore\n"
      "Example, for a virtual board: gearshift restore --sysroot /tmp/orin --state /tmp/state");
  command->callback([options, &exit_code] { exit_code = restore(*options); });
}

}  // namespace gearshift
