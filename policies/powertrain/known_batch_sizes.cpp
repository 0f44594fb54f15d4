#include "policies/powertrain/known_batch_sizes.h"

#include <algorithm>
#include <vector>

namespace gearshift {
namespace {

using Sizes = std::vector<std::int32_t>;

bool spans(const Sizes& sizes, std::int32_t size) {
  return !sizes.empty() && size >= sizes.front() && size <= sizes.back();
}

std::string span_text(const Sizes& sizes) {
  const std::string first = std::to_string(sizes.front());
  return sizes.size() == 1 ? first : first + " to " + std::to_string(sizes.back());
}

}  // namespace

bool knows_batch_size(const Predictor& predictor, std::int32_t size) {
  const Sizes& sizes = predictor.batch_sizes;
  if (!predictor.takes_batch_size()) {
    return std::find(sizes.begin(), sizes.end(), size) != sizes.end();
  }
  return spans(sizes, size) || spans(predictor.reference_batch_sizes, size);
}

std::string known_batch_sizes(const Predictor& predictor) {
  const Sizes& sizes = predictor.batch_sizes;
  if (predictor.takes_batch_size()) {
    const Sizes& before = predictor.reference_batch_sizes;
    if (predictor.reference.empty()) return span_text(sizes);
    if (before.empty()) {
      return span_text(sizes) +
             ", and its file does not tell what its reference knew (transferred anew it does)";
    }
    return span_text(sizes) + ", and " + span_text(before) + " from its reference";
  }
  std::string text;
  for (const std::int32_t size : sizes) text += (text.empty() ? "" : ", ") + std::to_string(size);
  return text + " alone";
}

}  // namespace gearshift
