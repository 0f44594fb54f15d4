// `gearshift export`: what a recording holds, as CSV.
#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/output_files.h"
#include "cli/recording_end.h"
#include "cli/standard_output.h"
#include "cli/tell.h"
#include "cli/written_output.h"
#include "trace/profile_csv.h"
#include "trace/recording_csv.h"
#include "trace/recording_profile.h"
#include "trace/replace_file.h"

namespace gearshift {
namespace {

struct ExportOptions {
  std::string file;
  std::string out;
  bool profile = false;
  bool minibatches = false;
  bool samples = false;
};

// Takes out what no file can hold, and says of each why.
std::vector<std::string> take_unwritable(std::vector<Profile>& profiles) {
  std::vector<std::string> reasons;
  std::erase_if(profiles, [&](const Profile& profile) {
    const std::optional<std::string> why = unwritable(profile);
    if (why) reasons.push_back(*why);
    return why.has_value();
  });
  return reasons;
}

void write_profile(RecordingReader& reader, std::ostream& out) {
  RecordedProfiles recorded = read_recorded_profiles(reader);
  if (recorded.profiles.empty()) {
    throw std::runtime_error("there is no profile: " + why_no_profile(recorded));
  }
  const std::vector<std::string> lines = left_out_lines(recorded);
  const std::vector<std::string> unwritten = take_unwritable(recorded.profiles);
  if (recorded.profiles.empty()) throw std::runtime_error(unwritten.front());
  out << format_profiles(recorded.profiles);
  for (const std::string& why : unwritten) tell(stderr, "left out: {}\n", why);
  for (const std::string& line : lines) tell(stderr, "{}\n", line);
}

void write(const ExportOptions& options, std::ostream& out) {
  RecordingReader reader(options.file);
  if (!is_complete(reader.end())) {
    std::fprintf(stderr, "%s: %s\n", options.file.c_str(),
                 recording_end_text(reader.end()).c_str());
  }
  if (options.profile) {
    write_profile(reader, out);
  } else if (options.minibatches) {
    write_minibatches_csv(reader, out);
  } else {
    write_samples_csv(reader, out);
  }
}

void run_export(const ExportOptions& options) {
  CommandFiles files;
  files.reads_recording("file", options.file);
  files.writes("-o", options.out);
  files.check();
  if (options.out.empty() || is_standard_output(options.out)) {
    write(options, std::cout);
    finish_standard_output();
    return;
  }
  replace_file(options.out, [&](std::ostream& out) { write(options, out); });
}

}  // namespace

void add_export(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<ExportOptions>();
  CLI::App* command =
      app.add_subcommand("export", "Write what a recording holds as CSV for other programs");
  command->add_option("file", options->file, "what `gearshift run --record` wrote")->required();
  CLI::Option_group* what = command->add_option_group("what", "one of these");
  what->add_flag("--profile", options->profile,
                 "a row a measured setting, as `gearshift simulate --profile` takes it");
  what->add_flag("--minibatches", options->minibatches,
                 "a row a minibatch: its times, and the knobs it ran with");
  what->add_flag("--samples", options->samples, "a row a reading: power, rails, temperatures");
  what->require_option(1);
  command->add_option("-o,--output", options->out, "the CSV file (default, or -: standard output)");
  command->footer(
      "Example: turn a recorded search into a table that a simulation runs on\n"
      "  gearshift export run.db --profile -o measured.csv\n"
      "  gearshift simulate --profile measured.csv --missing nearest --power 30W");
  command->callback([options, &exit_code] {
    try {
      run_export(*options);
    } catch (const std::invalid_argument& error) {
      std::fprintf(stderr, "gearshift export: %s\n", error.what());
      exit_code = kExitUsage;
    } catch (const std::exception& error) {
      std::fprintf(stderr, "gearshift export: %s\n", error.what());
      exit_code = kExitFailed;
    }
  });
}

}  // namespace gearshift
