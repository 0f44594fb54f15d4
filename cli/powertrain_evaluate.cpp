// gearshift powertrain evaluate: how far predictions are off on measured profiles.
#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/powertrain_commands.h"
#include "cli/tell.h"
#include "policies/powertrain/comparison.h"

namespace gearshift {
namespace {

using Json = nlohmann::ordered_json;

struct PowertrainEvaluateOptions {
  std::string reference;
  std::vector<std::string> targets;
  ComparisonOptions comparison;
  bool json = false;
};

std::string text(const Quartiles& quartiles, const std::optional<double>& published) {
  return fmt::format("{:6.1f} ({:5.1f} .. {:5.1f}) {:>9}", quartiles.median, quartiles.first,
                     quartiles.third, published ? fmt::format("{:.1f}", *published) : "-");
}

std::string profile_name(const ComparisonRow& row) {
  const std::string name = row.device + ' ' + row.workload;
  return row.batch_size == 0 ? name : name + '/' + std::to_string(row.batch_size);
}

void print(const std::vector<ComparisonRow>& rows, const PowertrainEvaluateOptions& options) {
  std::printf(
      "Mean absolute error in percent: median (quartiles) of %zu repeats, published median\n\n",
      options.comparison.repeats);
  std::printf("%-36s %-10s %6s   %-34s %s\n", "profile", "method", "modes",
              "time          quartiles  published", "power         quartiles  published");
  for (const ComparisonRow& row : rows) {
    const PublishedError published =
        published_error(row.device, row.workload, row.batch_size, row.method, row.modes);
    std::printf("%-36s %-10s %6zu   %-34s %s\n", profile_name(row).c_str(),
                std::string(method_name(row.method)).c_str(), row.modes,
                text(row.time, published.time_percent).c_str(),
                text(row.power, published.power_percent).c_str());
  }
}

Json error_json(const Quartiles& quartiles, const std::optional<double>& published) {
  Json json = {{"median_percent", quartiles.median},
               {"first_quartile_percent", quartiles.first},
               {"third_quartile_percent", quartiles.third}};
  json["published_percent"] = published ? Json(*published) : Json();
  return json;
}

void print_json(const std::vector<ComparisonRow>& rows, const PowertrainEvaluateOptions& options) {
  Json json = {{"repeats", options.comparison.repeats},
               {"seed", options.comparison.training.seed},
               {"rows", Json::array()}};
  for (const ComparisonRow& row : rows) {
    const PublishedError published =
        published_error(row.device, row.workload, row.batch_size, row.method, row.modes);
    json["rows"].push_back({{"device", row.device},
                            {"workload", row.workload},
                            {"batch_size", row.batch_size == 0 ? Json() : Json(row.batch_size)},
                            {"method", method_name(row.method)},
                            {"modes", row.modes},
                            {"time", error_json(row.time, published.time_percent)},
                            {"power", error_json(row.power, published.power_percent)}});
  }
  std::printf("%s\n", json.dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
}

int run_evaluate(PowertrainEvaluateOptions options) {
  const Profile reference = read_one_profile(options.reference);
  std::vector<Profile> targets;
  for (const std::string& path : options.targets) targets.push_back(read_one_profile(path));
  options.comparison.training.progress = training_progress();
  options.comparison.progress = [](std::size_t done, std::size_t total) {
    const bool terminal = isatty(STDERR_FILENO) == 1;
    if (!terminal && done != total && done % 50 != 1) return;
    tell(stderr, "{}{}/{} trainings{}", terminal ? "\r\033[K" : "", done, total,
         !terminal || done == total ? "\n" : "");
  };
  const NetworkModule module;
  const std::vector<ComparisonRow> rows = compare(module, reference, targets, options.comparison);
  if (options.json) {
    print_json(rows, options);
  } else {
    print(rows, options);
  }
  return kExitOk;
}

}  // namespace

void add_powertrain_evaluate(CLI::App& powertrain, int& exit_code) {
  auto options = std::make_shared<PowertrainEvaluateOptions>();
  CLI::App* command = powertrain.add_subcommand(
      "evaluate", "Compare predictions with measured profiles, and with the published errors");
  command->add_option("--reference", options->reference, "the profile to transfer from")
      ->required();
  command->add_option("--target", options->targets, "a profile to transfer to; may be repeated")
      ->required();
  command
      ->add_option("--modes", options->comparison.modes,
                   "how many measured modes, separated by commas; default 10,20..100")
      ->delimiter(',')
      ->check(CLI::Range(3, 1'000'000));
  command->add_option("--repeats", options->comparison.repeats, "draws of the modes")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  add_training_options(*command, options->comparison.training);
  command->add_flag("--json", options->json, "one JSON object instead of text");
  command->footer(
      "\"all\" is trained on nine of ten settings of the profile itself, NN on the drawn modes "
      "alone, "
      "PowerTrain\n"
      "on these and the reference. Twenty trainings of 50 modes take about 5 s, one of 4,368 about "
      "8 s.\n"
      "Example: gearshift powertrain evaluate --reference resnet.csv --target mobilenet.csv "
      "--modes 10,50");
  command->callback([options, &exit_code] { exit_code = run_evaluate(*options); });
}

}  // namespace gearshift
