// gearshift powertrain: networks that predict every mode's time and power from a few measured ones.
#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "cli/commands.h"
#include "cli/powertrain_commands.h"
#include "cli/profile_files.h"
#include "cli/tell.h"
#include "trace/profile_csv.h"

namespace gearshift {
namespace {

using Json = nlohmann::ordered_json;

Json network_json(const PredictorNetwork& network) {
  return {{"mape_percent", network.mape_percent},
          {"epoch", network.epoch},
          {"training_loss", network.training_loss},
          {"validation_loss", network.validation_loss}};
}

void show_progress(const TrainingProgress& progress) {
  constexpr std::size_t kEpochBar = 30;
  constexpr std::size_t kLines = 4;  // of a training, where no terminal can be written over
  const bool terminal = isatty(STDERR_FILENO) == 1;
  const bool ends = progress.epoch == progress.epochs;
  const std::size_t step = (progress.epochs + kLines - 1) / kLines;
  if (!terminal && !ends && progress.epoch % step != 0) return;
  const std::size_t filled = kEpochBar * progress.epoch / progress.epochs;
  const std::string text =
      fmt::format("{:<5} [{:=<{}}{:<{}}] {}/{} epochs, loss {:.4g}, validation {:.4g}",
                  progress.target, "", filled, "", kEpochBar - filled, progress.epoch,
                  progress.epochs, progress.training_loss, progress.validation_loss);
  tell(stderr, "{}{}{}", terminal ? "\r\033[K" : "", text, !terminal || ends ? "\n" : "");
}

}  // namespace

void add_training_options(CLI::App& command, TrainingOptions& options) {
  command.add_option("--seed", options.seed, "draws the modes, the first weights and the batches")
      ->capture_default_str()
      ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{999'999'999'999'999'999}));
  command.add_option("--epochs", options.epochs, "passes over the training rows")
      ->capture_default_str()
      ->check(CLI::Range(1, 100'000));
  command
      .add_option_function<std::string>(
          "--loss",
          [&options](const std::string& loss) {
            options.loss = loss == loss_name(Loss::mape) ? Loss::mape : Loss::mse;
          },
          "mse, or mape: relative, for a board far from the reference's (default: mse)")
      ->check(CLI::IsMember({"mse", "mape"}));
  command.add_option("--dropout", options.dropout, "part of the neurons left out in training")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 0.9))
      ->check([](const std::string& text) {  // which no range leaves out
        return std::isnan(std::strtod(text.c_str(), nullptr)) ? text + " is no number" : "";
      });
  command.add_option("--batch-rows", options.batch_rows, "settings in one step of the optimizer")
      ->capture_default_str()
      ->check(CLI::Range(1, 100'000));
}

Profile read_one_profile(const std::string& path) {
  return only_profile(read_profiles(path), path);
}

Profile only_profile(std::vector<Profile> profiles, const std::string& path) {
  profiles = with_rows(std::move(profiles), path);
  if (profiles.size() == 1) return std::move(profiles.front());
  std::string found;
  for (const Profile& profile : profiles) {
    found += (found.empty() ? "" : ", ") + profile.device + " " + profile.workload + " " +
             std::string(kind_name(profile.kind));
  }
  throw std::runtime_error(path + ": " + std::to_string(profiles.size()) + " profiles (" + found +
                           "); give a file with the lines of one");
}

std::function<void(const TrainingProgress&)> training_progress() { return show_progress; }

std::string predictor_text(const Predictor& predictor) {
  const auto text = [](const PredictorNetwork& network) {
    return fmt::format("{:.1f} % (epoch {}, validation loss {:.4g})", network.mape_percent,
                       network.epoch, network.validation_loss);
  };
  return "time " + text(predictor.time) + ", power " + text(predictor.power);
}

Json predictor_json(const Predictor& predictor) {
  return {{"device", predictor.device},
          {"workload", predictor.workload},
          {"kind", kind_name(predictor.kind)},
          {"reference", predictor.reference},
          {"loss", loss_name(predictor.loss)},
          {"seed", predictor.seed},
          {"settings", predictor.settings},
          {"time_ms", network_json(predictor.time)},
          {"power_w", network_json(predictor.power)}};
}

void add_powertrain(CLI::App& app, int& exit_code) {
  CLI::App* powertrain = app.add_subcommand(
      "powertrain", "Predict the time and power of every mode from a few measured ones");
  powertrain->require_subcommand(1);
  powertrain->footer(
      "A reference network learns from a large profile; a new workload or board takes it over "
      "with\n"
      "about 50 measured modes. One reference ships with gearshift; `train` makes your own.\n"
      "docs/powertrain.md has the method, docs/profiles.md the columns.\n"
      "Example: gearshift powertrain transfer mobilenet.csv -o mobilenet.model\n"
      "         gearshift powertrain predict mobilenet.model --board jetson-agx-orin -o "
      "predicted.csv");
  add_powertrain_train(*powertrain, exit_code);
  add_powertrain_transfer(*powertrain, exit_code);
  add_powertrain_predict(*powertrain, exit_code);
  add_powertrain_evaluate(*powertrain, exit_code);
  add_powertrain_optimize(*powertrain, exit_code);
}

}  // namespace gearshift
