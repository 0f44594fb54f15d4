#include "boards/target_label.h"

#include <charconv>
#include <system_error>

namespace gearshift {
namespace {

// The whole text is a number.
std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// What stands between `before` and `after`, where the text has this form.
std::optional<std::string_view> between(std::string_view text, std::string_view before,
                                        std::string_view after) {
  if (text.size() < before.size() + after.size()) return std::nullopt;
  if (!text.starts_with(before) || !text.ends_with(after)) return std::nullopt;
  return text.substr(before.size(), text.size() - before.size() - after.size());
}

std::optional<double> number_between(std::string_view text, std::string_view before,
                                     std::string_view after) {
  const std::optional<std::string_view> middle = between(text, before, after);
  return middle ? number(*middle) : std::nullopt;
}

ComparisonSide parse_side(std::string_view text) {
  ComparisonSide side;
  side.workers = number_between(text, "w=", "");
  side.batch_size = number_between(text, "bs ", "");
  side.gpu_mhz = number_between(text, "GPU ", " MHz");
  if (side.gpu_mhz) {
    side.mode = "MAXN";
  } else if (!side.workers && !side.batch_size) {
    side.mode = text;
  }
  return side;
}

}  // namespace

std::optional<Comparison> parse_comparison(std::string_view label) {
  constexpr std::string_view kOver = " over ";
  const std::size_t over = label.find(kOver);
  if (over == std::string_view::npos) return std::nullopt;
  std::string_view left = label.substr(0, over);
  std::string_view right = label.substr(over + kOver.size());
  right = right.substr(0, right.find(" ("));
  Comparison comparison;
  for (const std::string_view separator : {": ", ", "}) {
    const std::size_t at = left.find(separator);
    if (at == std::string_view::npos) continue;
    comparison.quantity = left.substr(0, at);
    left.remove_prefix(at + separator.size());
    break;
  }
  comparison.over = parse_side(left);
  comparison.under = parse_side(right);
  const std::optional<double> bare = number(right);
  if (comparison.over.batch_size && bare) {
    comparison.under = {};
    comparison.under.batch_size = bare;
  }
  return comparison;
}

std::optional<ModeGrid> parse_mode_grid(std::string_view label) {
  const auto grid = [](double modes, double minibatches) -> std::optional<ModeGrid> {
    if (!(modes >= 1 && modes <= 1e6 && minibatches >= 1)) return std::nullopt;
    return ModeGrid{static_cast<std::size_t>(modes), minibatches};
  };
  if (const auto modes = number_between(label, "all ", " modes")) return grid(*modes, 1);
  constexpr std::string_view kTimes = " modes x ";
  const std::size_t times = label.find(kTimes);
  if (times == std::string_view::npos) return std::nullopt;
  const auto modes = number(label.substr(0, times));
  const auto minibatches = number_between(label.substr(times + kTimes.size()), "", " minibatches");
  return modes && minibatches ? grid(*modes, *minibatches) : std::nullopt;
}

}  // namespace gearshift
