// `gearshift replay`: plays a recording back to the loop, with its own policy or beside another.
#include "trace/replay.h"

#include <spdlog/fmt/fmt.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "boards/board_model.h"
#include "cli/commands.h"
#include "cli/note_text.h"
#include "cli/policy_transfer.h"
#include "cli/read_script.h"
#include "cli/recording_end.h"
#include "controller/printable_text.h"
#include "policies/lua/lua_policy.h"
#include "trace/policy_comparison.h"
#include "trace/recording_text.h"

namespace gearshift {
namespace {

using nlohmann::json;

struct ReplayOptions {
  std::string file;
  std::string policy;
  bool json = false;
};

void print_line(const json& line) {
  // Script text and workload names come from outside: bytes that are no UTF-8 are replaced.
  std::printf("%s\n", line.dump(-1, ' ', false, json::error_handler_t::replace).c_str());
}

std::string goal_cap_text(const Goal& goal) {
  if (!goal.power_mw) return "no cap";
  return "cap " + watts(*goal.power_mw);
}

json to_json(const ReplayResult& result, const RecordingReader& reader) {
  json line = {{"ticks", result.ticks},
               {"decisions", result.decisions},
               {"duration_s", seconds(result.duration)},
               {"complete", is_complete(reader.end())},
               {"equal", !result.difference.has_value()}};
  if (reader.end()) line["end"] = *reader.end();
  if (result.difference) {
    line["difference"] = {{"tick", result.difference->tick},
                          {"time_s", seconds(result.difference->since_start)},
                          {"recorded", result.difference->recorded},
                          {"replayed", result.difference->replayed}};
  }
  return line;
}

// Names and texts are the recording's, and terminals obey control characters.
template <typename... T>
void print(fmt::format_string<T...> format, T&&... values) {
  std::string text = fmt::format(format, std::forward<T>(values)...);
  hide_unprintable(text, '\n');
  std::fputs(text.c_str(), stdout);
}

void print_result(const ReplayResult& result, const RecordingReader& reader) {
  const RecordingHeader& header = reader.header();
  print("{}, policy {}, seed {}: {} ticks in {:.1f} s; {}\n", header.traits.name,
        header.policy.name, header.options.seed, result.ticks, seconds(result.duration),
        recording_end_text(reader.end()));
  if (!result.difference) {
    print("replayed: all {} decisions are equal\n", result.decisions);
    return;
  }
  const Difference& difference = *result.difference;
  print(
      "replayed: {} decisions are equal, then in tick {} at {:.3f} s\n"
      "  recorded: {}\n"
      "  replayed: {}\n",
      result.decisions, difference.tick, seconds(difference.since_start), difference.recorded,
      difference.replayed);
  if (header.gearshift_version != GEARSHIFT_VERSION) {
    print("it was recorded by gearshift {}, and this is {}\n", header.gearshift_version,
          GEARSHIFT_VERSION);
  }
}

json to_json(const KnobSpace& space, const ComparedSearch& search) {
  const auto requests = [&](const std::vector<Request>& list) {
    json lines = json::array();
    for (const Request& request : list) lines.push_back(exact_text(space, request));
    return lines;
  };
  json line = {{"time_s", seconds(search.since_start)},
               {"recorded", requests(search.recorded)},
               {"other", requests(search.other)},
               {"other_unanswered", search.other_unanswered},
               {"other_stopped", search.other_stopped}};
  line["cap_w"] =
      search.goal.power_mw ? json(static_cast<double>(*search.goal.power_mw) / 1e3) : json(nullptr);
  if (!search.other_failure.empty()) line["other_failure"] = search.other_failure;
  return line;
}

void print_search(const KnobSpace& space, const ComparedSearch& search, std::size_t number) {
  print("\nsearch {} at {:.1f} s, {}\n", number, seconds(search.since_start),
        goal_cap_text(search.goal));
  const std::size_t rows = std::max(search.recorded.size(), search.other.size());
  const auto row = [&](const std::vector<Request>& list, std::size_t i) {
    return i < list.size() ? exact_text(space, list[i]) : std::string("-");
  };
  std::size_t width = 8;
  for (const Request& request : search.recorded) {
    width = std::max(width, exact_text(space, request).size());
  }
  print("      {:<{}}    {}\n", "recorded", width, "the other");
  for (std::size_t i = 0; i < rows; ++i) {
    const std::string recorded = row(search.recorded, i);
    const std::string other = row(search.other, i);
    print("  {:3} {:<{}}  {} {}\n", i + 1, recorded, width, recorded == other ? ' ' : '|', other);
  }
  if (search.other_unanswered) {
    print(
        "      the other ends here: this recording does not tell what that setting would have "
        "cost\n");
  }
  if (search.other_stopped) {
    print("      the other is stopped here, after {} questions\n", search.other.size());
  }
  if (!search.other_failure.empty()) print("      the other failed: {}\n", search.other_failure);
}

// The model that the policy had: that of the recorded board file, or of the built-in board by name.
std::optional<BoardModel> recorded_board(const RecordingHeader& header) {
  if (header.board.text.empty()) return built_in_board_model(header.traits.name);
  const BoardDescription board = parse_board(header.board.text, header.board.name);
  return board_model(&board);
}

int replay(const ReplayOptions& options) {
  RecordingReader reader(options.file);
  const RecordingHeader& header = reader.header();
  const std::optional<BoardModel> board = recorded_board(header);
  const ReferenceTransfer transfer = policy_transfer();
  Replay replay(reader);
  LuaPolicy recorded(header.policy.name, header.policy.text, board, &transfer,
                     {.think_time = &replay.think_time()});
  if (options.policy.empty()) {
    const ReplayResult result = replay.run(recorded);
    if (options.json) {
      print_line(to_json(result, reader));
    } else {
      print_result(result, reader);
    }
    return result.difference ? kExitFailed : kExitOk;
  }
  const NamedText script = read_script(options.policy);
  LuaPolicy other(script.name, script.text, board, &transfer);
  other.check();
  RecordingReader answers(options.file);
  ComparedPolicy compared(recorded, other, replay, read_placed_observations(answers));
  const ReplayResult result = replay.run(compared);
  if (options.json) {
    json line = to_json(result, reader);
    line["searches"] = json::array();
    for (const ComparedSearch& search : compared.searches()) {
      line["searches"].push_back(to_json(header.knobs, search));
    }
    print_line(line);
  } else {
    print_result(result, reader);
    std::size_t number = 0;
    for (const ComparedSearch& search : compared.searches()) {
      print_search(header.knobs, search, ++number);
    }
  }
  return result.difference ? kExitFailed : kExitOk;
}

}  // namespace

void add_replay(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<ReplayOptions>();
  CLI::App* command = app.add_subcommand(
      "replay", "Play a recording back: the same inputs must give the same decisions");
  command->add_option("file", options->file, "what `gearshift run --record` wrote")->required();
  command->add_option("--policy", options->policy,
                      "another Lua script: show beside each question of the recorded one what this "
                      "one would have asked, as far as the recording has the answers");
  command->add_flag("--json", options->json, "one JSON object instead of text");
  command->footer(
      "Example: record a run, prove that it replays, and see what another policy would have done\n"
      "  gearshift run --policy binary_search --power 30W --record run.db\n"
      "  gearshift replay run.db\n"
      "  gearshift replay run.db --policy my_policy.lua\n"
      "Ends with exit code 1 at the first decision that differs, and shows both.");
  command->callback([options, &exit_code] {
    try {
      exit_code = replay(*options);
    } catch (const PolicyError& error) {
      std::fprintf(stderr, "gearshift replay: %s\n", error.what());
      exit_code = kExitPolicy;
    } catch (const std::exception& error) {
      std::fprintf(stderr, "gearshift replay: %s\n", error.what());
      exit_code = kExitFailed;
    }
  });
}

}  // namespace gearshift
