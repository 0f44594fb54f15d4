// gearshift explain: what is held and why, what was tried and what each cost, and what would change
// the choice.
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "bridge/control_client.h"
#include "cli/commands.h"
#include "cli/control_request.h"
#include "cli/rationale_text.h"
#include "cli/recording_end.h"
#include "cli/setting_prediction.h"
#include "controller/printable_text.h"
#include "trace/recorded_goal.h"
#include "trace/recording_reader.h"

namespace gearshift {
namespace {

constexpr std::size_t kMostTriedShown = 12;

struct ExplainOptions {
  std::string recording;
  ControlAddress control;
  bool json = false;
  bool all = false;
};

// Names and reasons come from outside, out of a file too, and terminals obey control characters.
std::string text_of(const KnobSpace& space, const Rationale& rationale, Time now,
                    const ExplainOptions& options) {
  std::string text =
      rationale_text(space, rationale, now, options.all ? Rationale::kMostTried : kMostTriedShown);
  hide_unprintable(text, '\n');
  return text;
}

// With how the recording ended, which need not be how the run did.
void print_recorded(const KnobSpace& space, const Rationale& rationale, Time now,
                    const std::optional<std::string>& end, const ExplainOptions& options) {
  if (options.json) {
    nlohmann::json line = nlohmann::json::parse(rationale_json(space, rationale, now, Known::all));
    line["complete"] = is_complete(end);
    if (end) line["end"] = *end;
    std::printf("%s\n",
                line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
    return;
  }
  if (!is_complete(end)) std::printf("recording     %s\n", recording_end_text(end).c_str());
  std::printf("%s", text_of(space, rationale, now, options).c_str());
}

// How the run stood at the end of its recording.
void explain_recording(const ExplainOptions& options) {
  RecordingReader reader(options.recording);
  const RecordingHeader& header = reader.header();
  RecordedGoal goal(header.options.goal);
  // A recording of a simulation has no board file.
  const std::optional<BoardDescription> board =
      header.board.text.empty() ? std::nullopt
                                : std::optional(parse_board(header.board.text, header.board.name));
  std::optional<SettingPrediction> prediction;
  if (board) prediction.emplace(*board, header.knobs);
  Rationale rationale(goal.goal());
  rationale.know_safe(header.traits.safe.value_or(header.knobs.lowest()));
  rationale.predict_with([&](const Setting& setting) -> std::optional<PredictedCost> {
    return prediction ? prediction->predict(setting) : std::nullopt;
  });
  RecordedTick tick;
  Time now{};
  while (reader.next(tick)) {
    now = tick.now;
    for (const Reading& reading : tick.readings) rationale.battery.add(reading);
    for (const Event& event : tick.events) {
      if (prediction) prediction->consume(event);
      rationale.consume(event);
      goal.consume(event);
    }
    for (const RecordedNote& note : tick.notes) {
      rationale.note({note.type, note.time, note.workload, note.value,
                      note.setting ? &*note.setting : nullptr,
                      note.observation ? &*note.observation : nullptr, nullptr, note.text});
      goal.note(note, rationale);
    }
    rationale.set_goal(goal.goal());
  }
  print_recorded(header.knobs, rationale, now, reader.end(), options);
}

}  // namespace

void add_explain(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<ExplainOptions>();
  CLI::App* command = app.add_subcommand(
      "explain", "Say what is held and why, what was tried, and what would change the choice");
  CLI::Option* const recording = command->add_option(
      "recording", options->recording,
      "a recording of gearshift run --record: how the run stood at its end; left "
      "out, a running daemon is asked");
  add_control_option(*command, options->control);
  for (const char* of_daemon : {"--control", "--key"}) {
    command->get_option(of_daemon)->excludes(recording);
  }
  command->add_flag("--json", options->json, "one JSON object instead of text");
  command->add_flag("--all", options->all, "every setting that was tried");
  command->footer(
      "Example: gearshift explain\n"
      "Example, of a recording: gearshift explain day.db --all");
  command->callback([options, &exit_code] {
    exit_code = run_control_request([&] {
      if (!options->recording.empty()) {
        explain_recording(*options);
        return;
      }
      const wire::ExplanationAnswer answer = ControlClient(options->control).explain();
      const std::string text =
          options->json
              ? rationale_json(answer.knobs, answer.rationale, answer.now, Known::answered) + "\n"
              : text_of(answer.knobs, answer.rationale, answer.now, *options);
      std::printf("%s", text.c_str());
    });
  });
}

}  // namespace gearshift
