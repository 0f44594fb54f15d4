#include "policies/powertrain/predictor_file.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "controller/profile_name.h"
#include "policies/powertrain/network_module.h"

namespace gearshift {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kFormat = "gearshift-powertrain";
constexpr std::int64_t kVersion = 1;
constexpr std::size_t kLengthBytes = 8;
constexpr std::size_t kMostText = 160;        // bytes: of two names, a blank between them
constexpr std::size_t kMostValues = 1 << 16;  // of a knob, or batch sizes
constexpr const char* kReferenceSizes = "reference_batch_sizes";
constexpr std::int64_t kMostInteger = std::int64_t{1} << 53;
// More than a profile may have. A trained network is far within all of these; what is not is
// damage, and would predict infinities or nonsense.
constexpr double kMostTimeMs = 1e9;
constexpr double kMostPowerW = 1e6;
constexpr double kMostInput = 9007199254740992;  // 2^53, of a knob's value
constexpr double kLeastInputDeviation = 1e-9;    // of a knob whose values differ
constexpr float kMostWeight = 1e6F;
constexpr std::array<std::string_view, 4> kUnits = {"count", "khz", "mw", "percent"};
constexpr std::array<std::string_view, 4> kClasses = {"clock", "power_limit", "memory", "hotplug"};

// The fields of one JSON object, with errors that name the field.
class Fields {
 public:
  Fields(const Json& json, std::string source) : json_(json), source_(std::move(source)) {
    if (!json.is_object()) fail("", "is no object");
  }

  [[noreturn]] void fail(std::string_view field, const std::string& reason) const {
    throw PredictorFileError(source_ + ": " + std::string(field) + (field.empty() ? "" : " ") +
                             reason);
  }

  const Json& field(const char* name) const {
    const auto found = json_.find(name);
    if (found == json_.end()) fail(name, "is missing");
    return *found;
  }

  Fields object(const char* name) const { return {field(name), source_ + ": " + name}; }

  const Json& array(const char* name, std::size_t most) const {
    const Json& json = field(name);
    if (!json.is_array() || json.size() > most) {
      fail(name, "is no array of at most " + std::to_string(most));
    }
    return json;
  }

  Fields element(const char* name, const Json& json) const { return {json, source_ + ": " + name}; }

  std::string text(const char* name) const {
    const Json& json = field(name);
    if (!json.is_string()) fail(name, "is no text");
    const auto& text = json.get_ref<const std::string&>();
    if (text.size() > kMostText || !is_printable(text)) {
      fail(name, "is longer than " + std::to_string(kMostText) + " bytes or not printable UTF-8");
    }
    return text;
  }

  // What a profile may be called, because models are made of profiles.
  std::string profile_name(const char* name) const {
    std::string found = text(name);
    if (const auto objection = name_objection(found)) fail(name, *objection);
    return found;
  }

  double number(const char* name) const {
    const Json& json = field(name);
    if (!json.is_number() || !std::isfinite(json.get<double>())) fail(name, "is no finite number");
    return json.get<double>();
  }

  double between(const char* name, double least, double most) const {
    const double value = number(name);
    if (value < least || value > most) {
      fail(name, "= " + field(name).dump() + ": expected a number from " + Json(least).dump() +
                     " to " + Json(most).dump() + "; the file is damaged, train it again");
    }
    return value;
  }

  double positive(const char* name, double most) const {
    const double value = number(name);
    if (value <= 0 || value > most) {
      fail(name, "= " + field(name).dump() + ": expected a number above 0, at most " +
                     Json(most).dump() + "; the file is damaged, train it again");
    }
    return value;
  }

  std::int64_t integer(const char* name, std::int64_t least, std::int64_t most) const {
    return checked_integer(name, field(name), least, most);
  }

  std::vector<std::int64_t> ascending(const char* name, std::int64_t most) const {
    std::vector<std::int64_t> values;
    for (const Json& json : array(name, kMostValues)) {
      const std::int64_t least = values.empty() ? 0 : values.back() + 1;
      values.push_back(checked_integer(name, json, least, most));
    }
    if (values.empty()) fail(name, "is empty");
    return values;
  }

  // The index of the text among the known ones.
  template <std::size_t kCount>
  std::size_t choice(const char* name, const std::array<std::string_view, kCount>& known) const {
    const std::string chosen = text(name);
    const auto found = std::find(known.begin(), known.end(), chosen);
    if (found == known.end()) fail(name, "= '" + chosen + "' is not known");
    return static_cast<std::size_t>(found - known.begin());
  }

 private:
  std::int64_t checked_integer(const char* name, const Json& json, std::int64_t least,
                               std::int64_t most) const {
    const bool fits = json.is_number_unsigned()
                          ? json.get<std::uint64_t>() <= static_cast<std::uint64_t>(most)
                          : json.is_number_integer();
    if (!fits || json.get<std::int64_t>() < least || json.get<std::int64_t>() > most) {
      fail(name, "= " + printed(json) + ": expected an integer from " + std::to_string(least) +
                     " to " + std::to_string(most));
    }
    return json.get<std::int64_t>();
  }

  static std::string printed(const Json& json) {
    return json.dump(-1, ' ', true, Json::error_handler_t::replace).substr(0, 40);
  }

  const Json& json_;
  std::string source_;
};

KnobSpace read_knobs(const Fields& header) {
  KnobSpace space;
  for (const Json& json : header.array("knobs", kMaxKnobs)) {
    const Fields fields = header.element("knobs", json);
    Knob knob;
    knob.name = fields.text("name");
    knob.unit = static_cast<Unit>(fields.choice("unit", kUnits));
    knob.knob_class = static_cast<KnobClass>(fields.choice("class", kClasses));
    knob.values = fields.ascending("values", kMostInteger);
    if (space.find(knob.name)) header.fail("knobs", "has '" + knob.name + "' twice");
    space.knobs.push_back(std::move(knob));
  }
  return space;
}

std::vector<std::int32_t> read_batch_sizes(const Fields& header, const char* name) {
  std::vector<std::int32_t> sizes;
  for (const std::int64_t size : header.ascending(name, std::numeric_limits<std::int32_t>::max())) {
    sizes.push_back(static_cast<std::int32_t>(size));
  }
  return sizes;
}

std::vector<PredictorInput> read_inputs(const Fields& header, const KnobSpace& knobs) {
  std::vector<PredictorInput> inputs;
  for (const Json& json : header.array("inputs", kMaxKnobs + 1)) {
    const Fields fields = header.element("inputs", json);
    const std::string name = fields.text("name");
    for (const PredictorInput& input : inputs) {
      if (input.name == name) header.fail("inputs", "has '" + name + "' twice");
    }
    inputs.push_back({name, fields.between("mean", 0, kMostInput),
                      fields.between("deviation", kLeastInputDeviation, kMostInput)});
    if (name != kBatchSizeInput && !knobs.find(name)) {
      fields.fail("name", "= '" + name + "' is neither batch_size nor one of the knobs");
    }
  }
  if (inputs.empty()) header.fail("inputs", "is empty");
  return inputs;
}

// `most`: of what it predicts.
PredictorNetwork read_network(const Fields& fields, std::string_view& blob, std::size_t columns,
                              double most) {
  PredictorNetwork network;
  network.mean = fields.positive("mean", most);
  network.deviation = fields.positive("deviation", most);
  network.epoch = static_cast<std::size_t>(fields.integer("epoch", 0, kMostInteger));
  network.training_loss = fields.number("training_loss");
  network.validation_loss = fields.number("validation_loss");
  network.mape_percent = fields.number("mape_percent");
  network.weights.resize(network_weight_count(columns));
  const std::size_t bytes = network.weights.size() * sizeof(float);
  std::memcpy(network.weights.data(), blob.data(), bytes);
  blob.remove_prefix(bytes);
  // Not a number is no such weight either.
  const auto is_plausible = [](float weight) { return std::fabs(weight) <= kMostWeight; };
  if (!std::all_of(network.weights.begin(), network.weights.end(), is_plausible)) {
    fields.fail("weights", "are not all numbers from -1e6 to 1e6; train it again");
  }
  return network;
}

void check_format(const Fields& header) {
  if (header.text("format") != kFormat) {
    header.fail("format", "= '" + header.text("format") + "' is not " + std::string(kFormat));
  }
  const std::int64_t version = header.integer("version", 0, kMostInteger);
  if (version != kVersion) {
    header.fail("version", "= " + std::to_string(version) + ", this gearshift reads " +
                               std::to_string(kVersion) + "; train it again");
  }
  Json layers = Json::array();
  for (const std::size_t width : gearshift_network_width) layers.push_back(width);
  if (header.array("layers", GEARSHIFT_NETWORK_LAYERS) != layers) {
    header.fail("layers", "are not those of this gearshift, " + layers.dump());
  }
}

// Splits the header off the front of `bytes`, which keep the weights.
Json take_header(std::string_view& bytes, const std::string& source) {
  const auto refuse = [&](const std::string& reason) {
    throw PredictorFileError(source + ": " + reason +
                             "; is it a file of `gearshift powertrain train`?");
  };
  if (bytes.size() > kMostPredictorBytes) {
    refuse("more than " + std::to_string(kMostPredictorBytes) + " bytes");
  }
  if (bytes.size() < kLengthBytes) refuse("only " + std::to_string(bytes.size()) + " bytes");
  std::uint64_t length = 0;
  for (std::size_t i = kLengthBytes; i > 0; --i) {
    length = length << 8 | static_cast<unsigned char>(bytes[i - 1]);
  }
  bytes.remove_prefix(kLengthBytes);
  if (length > kMostPredictorHeaderBytes || length > bytes.size()) {
    refuse("a header of " + std::to_string(length) + " bytes, expected at most " +
           std::to_string(std::min(kMostPredictorHeaderBytes, bytes.size())));
  }
  const std::string_view text = bytes.substr(0, length);
  bytes.remove_prefix(length);
  // Deep nesting would use up the stack; a header is three levels deep.
  const auto keep = [](int depth, Json::parse_event_t, Json&) { return depth <= 4; };
  Json header = Json::parse(text, keep, false);
  if (!header.is_object()) refuse("the header is no JSON object");
  return header;
}

Json network_json(const PredictorNetwork& network) {
  return {{"mean", network.mean},
          {"deviation", network.deviation},
          {"epoch", network.epoch},
          {"training_loss", network.training_loss},
          {"validation_loss", network.validation_loss},
          {"mape_percent", network.mape_percent}};
}

}  // namespace

Predictor parse_predictor(std::string_view bytes, std::string_view source) {
  const Json json = take_header(bytes, std::string(source));
  const Fields header(json, std::string(source));
  check_format(header);
  Predictor predictor;
  predictor.device = header.profile_name("device");
  predictor.workload = header.profile_name("workload");
  constexpr std::array<std::string_view, 2> kKindNames = {"train", "infer"};
  constexpr std::array<std::string_view, 2> kLosses = {"mse", "mape"};
  predictor.kind = static_cast<Kind>(header.choice("kind", kKindNames));
  predictor.loss = static_cast<Loss>(header.choice("loss", kLosses));
  predictor.reference = header.text("reference");
  const std::string seed = header.text("seed");  // a text: JSON readers lose bits of 64
  if (seed.empty() || seed.size() > 19 ||
      seed.find_first_not_of("0123456789") != std::string::npos) {
    header.fail("seed", "= '" + seed + "': expected 1 to 19 digits");
  }
  predictor.seed = std::stoull(seed);
  predictor.settings = static_cast<std::size_t>(header.integer("settings", 1, kMostInteger));
  predictor.knobs = read_knobs(header);
  predictor.batch_sizes = read_batch_sizes(header, "batch_sizes");
  if (json.contains(kReferenceSizes)) {  // older files do not tell
    predictor.reference_batch_sizes = read_batch_sizes(header, kReferenceSizes);
  }
  predictor.inputs = read_inputs(header, predictor.knobs);
  const std::size_t columns = predictor.inputs.size();
  const std::size_t expected = 2 * network_weight_count(columns) * sizeof(float);
  if (bytes.size() != expected) {
    header.fail("weights", "are " + std::to_string(bytes.size()) + " bytes, " +
                               std::to_string(columns) + " inputs need " +
                               std::to_string(expected) + "; the file is cut short or damaged");
  }
  predictor.time = read_network(header.object("time_ms"), bytes, columns, kMostTimeMs);
  predictor.power = read_network(header.object("power_w"), bytes, columns, kMostPowerW);
  return predictor;
}

std::string format_predictor(const Predictor& predictor) {
  for (const std::string& name : {predictor.device, predictor.workload}) {
    if (const auto objection = name_objection(name)) {
      throw PredictorFileError("a model of '" + name +
                               "' is not written: a name of a device or a workload " + *objection);
    }
  }
  Json header = {{"format", kFormat},
                 {"version", kVersion},
                 {"device", predictor.device},
                 {"workload", predictor.workload},
                 {"kind", kind_name(predictor.kind)},
                 {"reference", predictor.reference},
                 {"loss", loss_name(predictor.loss)},
                 {"seed", std::to_string(predictor.seed)},
                 {"settings", predictor.settings},
                 {"layers", Json::array()},
                 {"knobs", Json::array()},
                 {"batch_sizes", predictor.batch_sizes},
                 {"inputs", Json::array()},
                 {"time_ms", network_json(predictor.time)},
                 {"power_w", network_json(predictor.power)}};
  if (!predictor.reference_batch_sizes.empty()) {
    header[kReferenceSizes] = predictor.reference_batch_sizes;
  }
  for (const std::size_t width : gearshift_network_width) header["layers"].push_back(width);
  for (const Knob& knob : predictor.knobs.knobs) {
    header["knobs"].push_back({{"name", knob.name},
                               {"unit", kUnits[static_cast<std::size_t>(knob.unit)]},
                               {"class", kClasses[static_cast<std::size_t>(knob.knob_class)]},
                               {"values", knob.values}});
  }
  for (const PredictorInput& input : predictor.inputs) {
    header["inputs"].push_back(
        {{"name", input.name}, {"mean", input.mean}, {"deviation", input.deviation}});
  }
  const std::string text = header.dump(-1, ' ', true, Json::error_handler_t::replace);
  std::string bytes;
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    bytes += static_cast<char>(text.size() >> (8 * i) & 0xff);
  }
  bytes += text;
  for (const PredictorNetwork* network : {&predictor.time, &predictor.power}) {
    bytes.append(reinterpret_cast<const char*>(network->weights.data()),
                 network->weights.size() * sizeof(float));
  }
  return bytes;
}

Predictor read_predictor(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes(kMostPredictorBytes + 1, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (file.bad() || (file.fail() && !file.eof())) {
    throw PredictorFileError(path.string() +
                             ": cannot be read; name a file of `gearshift powertrain train`");
  }
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  return parse_predictor(bytes, path.string());
}

}  // namespace gearshift
