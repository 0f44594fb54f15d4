// `gearshift import-tegrastats`: a log of NVIDIA's tegrastats, as CSV.
#include <spdlog/fmt/fmt.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>

#include "boards/board_description.h"
#include "cli/commands.h"
#include "cli/flag_value.h"
#include "cli/output_files.h"
#include "cli/standard_output.h"
#include "cli/units.h"
#include "cli/written_output.h"
#include "trace/replace_file.h"
#include "trace/tegrastats.h"

namespace gearshift {
namespace {

struct ImportOptions {
  std::string log;
  std::string out;
  std::string board = "auto";
  std::string interval = "1s";
};

TotalRails total_of(const BoardDescription& board) {
  TotalRails rails;
  for (const RailDescription& rail : board.power.rails) {
    if (rail.sign == 1) rails.push_back(rail.label);
  }
  return rails;
}

[[noreturn]] void refuse_rails(const TegrastatsLog& log, const std::string& board,
                               const TotalRails& total) {
  std::set<std::string> there;
  for (const TegrastatsSample& sample : log.samples) {
    for (const auto& [rail, power_mw] : sample.rails_mw) there.insert(rail);
  }
  throw std::invalid_argument(fmt::format(
      "--board {}: its power is {}, and the log has {}; leave --board out, and the board whose "
      "rails these are is taken",
      board, fmt::join(total, " + "),
      there.empty() ? "no rail" : fmt::format("{}", fmt::join(there, ", "))));
}

// The board of that id; for auto the one that counts most of the rails that the log has.
TotalRails choose_total(const TegrastatsLog& log, const std::string& wanted) {
  TotalRails best;
  std::string known;
  for (const BoardDescription& board : built_in_boards()) {
    TotalRails rails = total_of(board);
    known += (known.empty() ? "" : ", ") + board.id;
    if (board.id == wanted) {
      if (!rails.empty() && !has_rails(log, rails)) refuse_rails(log, wanted, rails);
      return rails;
    }
    if (wanted != "auto") continue;
    if (!rails.empty() && rails.size() > best.size() && has_rails(log, rails)) {
      best = std::move(rails);
    }
  }
  if (wanted != "auto") {
    throw std::invalid_argument("--board '" + wanted + "': known are auto, " + known);
  }
  return best;
}

Duration interval_of(const std::string& text) {
  const Duration interval = flag_value("--interval", text, parse_duration);
  if (interval > Duration::zero()) return interval;
  throw std::invalid_argument("--interval: '" + text + "': give a time above 0");
}

void import(const ImportOptions& options) {
  CommandFiles files;
  files.reads("log", options.log);
  files.writes("-o", options.out);
  files.check();
  const Duration interval = interval_of(options.interval);
  std::ifstream in(options.log, std::ios::binary);
  if (!in || std::filesystem::is_directory(options.log)) {
    throw std::runtime_error(options.log + ": cannot be read: is it there, and a file?");
  }
  const TegrastatsLog log = read_tegrastats(in, options.log);
  const TotalRails total = choose_total(log, options.board);
  if (options.out.empty() || is_standard_output(options.out)) {
    write_tegrastats_csv(log, total, interval, std::cout);
    finish_standard_output();
  } else {
    replace_file(options.out,
                 [&](std::ostream& out) { write_tegrastats_csv(log, total, interval, out); });
  }
  std::string rule;
  for (const std::string& rail : total) rule += (rule.empty() ? "" : " + ") + rail;
  std::fprintf(
      stderr, "%zu samples, %zu other lines; power_w is %s\n", log.samples.size(), log.other_lines,
      rule.empty() ? "empty: no board that is known has these rails (see --board)" : rule.c_str());
  if (const std::size_t undated = undated_samples(log)) {
    std::fprintf(stderr, "%zu of %zu samples without a date that can be read: time_s is empty\n",
                 undated, log.samples.size());
  }
  if (const std::size_t back = dates_that_go_back(log)) {
    std::fprintf(stderr,
                 "%zu of %zu samples with a date before that of the line above: time_s goes back "
                 "too (a clock that was set, or two logs in one: split the log there)\n",
                 back, log.samples.size());
  }
}

}  // namespace

void add_import_tegrastats(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<ImportOptions>();
  CLI::App* command = app.add_subcommand(
      "import-tegrastats", "Turn a log of NVIDIA's tegrastats into CSV: power, heat, clocks, load");
  command->add_option("log", options->log, "what `tegrastats --logfile` wrote")->required();
  command->add_option("-o,--output", options->out, "the CSV file (default, or -: standard output)");
  command
      ->add_option("--board", options->board,
                   "whose rule says which rails add up to the board's power")
      ->capture_default_str();
  command
      ->add_option("--interval", options->interval,
                   "time between two lines, where no line has a date or several have the same")
      ->capture_default_str();
  command->footer(
      "Example: log on the board for a while, and read it here\n"
      "  sudo tegrastats --interval 500 --logfile run.log\n"
      "  gearshift import-tegrastats run.log --interval 500ms -o run.csv\n"
      "Dates are local time without a zone. A rail's mean since tegrastats began is left out.");
  command->callback([options, &exit_code] {
    try {
      import(*options);
    } catch (const std::invalid_argument& error) {
      std::fprintf(stderr, "gearshift import-tegrastats: %s\n", error.what());
      exit_code = kExitUsage;
    } catch (const std::exception& error) {
      std::fprintf(stderr, "gearshift import-tegrastats: %s\n", error.what());
      exit_code = kExitFailed;
    }
  });
}

}  // namespace gearshift
