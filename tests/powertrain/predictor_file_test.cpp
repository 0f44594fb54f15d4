#include "policies/powertrain/predictor_file.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#include "policies/powertrain/network_module.h"

namespace gearshift {
namespace {

Predictor example() {
  Predictor predictor;
  predictor.device = "jetson-agx-orin";
  predictor.workload = "made-up";
  predictor.kind = Kind::infer;
  predictor.reference = "jetson-agx-orin resnet";
  predictor.loss = Loss::mape;
  predictor.seed = 999'999'999'999'999'999;
  predictor.settings = 50;
  predictor.knobs.knobs = {{"cpu_cores", Unit::count, KnobClass::hotplug, {4, 8, 12}},
                           {"gpu_mhz", Unit::khz, KnobClass::clock, {114'750, 1'300'500}}};
  predictor.batch_sizes = {1, 32};
  predictor.reference_batch_sizes = {8, 64};
  predictor.inputs = {{"cpu_cores", 8, 3.2}, {"gpu_mhz", 600, 400}, {"batch_size", 16, 15.5}};
  for (PredictorNetwork* network : {&predictor.time, &predictor.power}) {
    network->mean = 30.25;
    network->deviation = 0.1;
    network->epoch = 97;
    network->training_loss = 0.1;
    network->validation_loss = 1e-9;
    network->mape_percent = 3.3;
    network->weights.resize(network_weight_count(3));
    for (std::size_t i = 0; i < network->weights.size(); ++i) {
      network->weights[i] = std::sin(static_cast<float>(i));
    }
  }
  predictor.power.weights.front() = 7;
  return predictor;
}

std::string refusal(const std::string& bytes) {
  try {
    parse_predictor(bytes, "m.model");
  } catch (const PredictorFileError& error) {
    return error.what();
  }
  return "";
}

// The header with one text in it replaced, its length put right.
std::string altered(const std::string& from, const std::string& to) {
  const std::string bytes = format_predictor(example());
  const std::size_t weights = 2 * network_weight_count(3) * sizeof(float);
  std::string header = bytes.substr(8, bytes.size() - 8 - weights);
  const std::size_t at = header.find(from);
  EXPECT_NE(at, std::string::npos) << from << " in " << header;
  header.replace(at, from.size(), to);
  std::string length;
  for (std::size_t i = 0; i < 8; ++i) length += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return length + header + bytes.substr(bytes.size() - weights);
}

TEST(PredictorFile, ReadsBackWhatItWrote) {
  const std::string bytes = format_predictor(example());
  const Predictor read = parse_predictor(bytes, "m.model");
  EXPECT_EQ(format_predictor(read), bytes);
  EXPECT_EQ(read.workload, "made-up");
  EXPECT_EQ(read.kind, Kind::infer);
  EXPECT_EQ(read.loss, Loss::mape);
  EXPECT_EQ(read.seed, 999'999'999'999'999'999U);
  EXPECT_EQ(read.knobs.knobs[1].values, example().knobs.knobs[1].values);
  EXPECT_EQ(read.knobs.knobs[1].unit, Unit::khz);
  EXPECT_EQ(read.batch_sizes, example().batch_sizes);
  EXPECT_EQ(read.reference_batch_sizes, example().reference_batch_sizes);
  EXPECT_EQ(read.inputs[2].name, kBatchSizeInput);
  EXPECT_EQ(read.time.weights, example().time.weights);
  EXPECT_EQ(read.power.weights, example().power.weights);
}

// Older files do not tell what the reference learnt from.
TEST(PredictorFile, NeedNotTellTheBatchSizesOfTheReference) {
  const std::string field = ",\"reference_batch_sizes\":[8,64]";
  EXPECT_TRUE(parse_predictor(altered(field, ""), "m").reference_batch_sizes.empty());
  EXPECT_NE(refusal(altered("[8,64]", "[64,8]")).find("reference_batch_sizes"), std::string::npos);
  Predictor afresh = example();
  afresh.reference_batch_sizes.clear();
  EXPECT_EQ(format_predictor(afresh).find("reference_batch_sizes"), std::string::npos);
}

// Names are those of the profile that it was trained on.
TEST(PredictorFile, KeepsEveryNameThatAProfileMayHave) {
  Predictor predictor = example();
  predictor.device = std::string(64, 'd');
  predictor.workload = "r\u00e9snet \u96ea";
  predictor.reference = predictor.device + " " + std::string(64, 'w');
  const Predictor read = parse_predictor(format_predictor(predictor), "m.model");
  EXPECT_EQ(read.device, predictor.device);
  EXPECT_EQ(read.workload, predictor.workload);
  EXPECT_EQ(read.reference, predictor.reference);
}

TEST(PredictorFile, NeitherWritesNorReadsANameThatNoProfileMayHave) {
  for (const char* name : {"", " blank", "\xff", "two\nlines"}) {
    Predictor predictor = example();
    predictor.workload = name;
    EXPECT_THROW(format_predictor(predictor), PredictorFileError);
  }
  EXPECT_NE(refusal(altered("made-up", "")).find("workload must be 1 to 64 bytes"),
            std::string::npos);
  EXPECT_NE(refusal(altered("made-up", "two\\nlines")).find("not printable UTF-8"),
            std::string::npos);
}

TEST(PredictorFile, IsReadFromAFile) {
  const std::filesystem::path path =
      std::filesystem::path(testing::TempDir()) / "gearshift_predictor_file_test.model";
  std::ofstream(path, std::ios::binary) << format_predictor(example());
  EXPECT_EQ(format_predictor(read_predictor(path)), format_predictor(example()));
  std::filesystem::remove(path);
  EXPECT_THROW(read_predictor(path), PredictorFileError);
}

TEST(PredictorFile, RefusesEveryLengthButItsOwn) {
  const std::string bytes = format_predictor(example());
  for (const std::size_t length :
       {std::size_t{0}, std::size_t{7}, std::size_t{8}, std::size_t{40}, bytes.size() - 1}) {
    EXPECT_NE(refusal(bytes.substr(0, length)), "") << length;
  }
  EXPECT_NE(refusal(bytes + "x").find("weights are"), std::string::npos);
  EXPECT_NE(refusal(std::string(kMostPredictorBytes + 1, ' ')).find("more than 4194304 bytes"),
            std::string::npos);
  EXPECT_NE(refusal("device,workload,kind\n").find("a header of"), std::string::npos);
}

TEST(PredictorFile, SaysWhatDoesNotFit) {
  EXPECT_NE(refusal(altered("gearshift-powertrain", "another")).find("format = 'another'"),
            std::string::npos);
  EXPECT_NE(refusal(altered("\"version\":1", "\"version\":2")).find("version = 2"),
            std::string::npos);
  EXPECT_NE(refusal(altered("[256,128", "[256,64")).find("layers"), std::string::npos);
  EXPECT_NE(refusal(altered("\"kind\":\"infer\"", "\"kind\":\"sing\"")).find("kind = 'sing'"),
            std::string::npos);
  EXPECT_NE(refusal(altered("[4,8,12]", "[4,4,12]")).find("values = 4"), std::string::npos);
  EXPECT_NE(refusal(altered("[1,32]", "[1,99999999999]")).find("batch_sizes"), std::string::npos);
  EXPECT_NE(refusal(altered("\"deviation\":3.2", "\"deviation\":0")).find("deviation"),
            std::string::npos);
  EXPECT_NE(refusal(altered("\"mean\":30.25", "\"mean\":null")).find("time_ms: mean is no finite"),
            std::string::npos);
  EXPECT_NE(refusal(altered("{\"name\":\"gpu_mhz\",\"mean\"", "{\"name\":\"disk\",\"mean\""))
                .find("'disk'"),
            std::string::npos);
  EXPECT_NE(refusal(altered("999999999999999999", "-1")).find("seed = '-1'"), std::string::npos);
  EXPECT_NE(refusal(altered(",\"settings\":50", "")).find("settings is missing"),
            std::string::npos);
}

// A damaged byte of an exponent: what is predicted by it would be an infinity, or nonsense.
TEST(PredictorFile, RefusesScalesThatNoProfileHas) {
  const struct {
    const char *from, *to, *told;
  } cases[] = {
      {"\"time_ms\":{\"mean\":30.25", "\"time_ms\":{\"mean\":1e308", "time_ms: mean = 1e+308"},
      {"\"time_ms\":{\"mean\":30.25", "\"time_ms\":{\"mean\":-1e5", "time_ms: mean = -100000.0"},
      {"\"power_w\":{\"mean\":30.25", "\"power_w\":{\"mean\":2e6", "at most 1000000.0"},
      {"\"power_w\":{\"mean\":30.25,\"deviation\":0.1",
       "\"power_w\":{\"mean\":30.25,\"deviation\":1e308", "power_w: deviation = 1e+308"},
      {"\"deviation\":3.2", "\"deviation\":1e-300", "inputs: deviation = 1e-300"},
      {"\"mean\":8.0", "\"mean\":1e308", "inputs: mean = 1e+308"},
      {"\"name\":\"gpu_mhz\",\"mean\"", "\"name\":\"cpu_cores\",\"mean\"", "has 'cpu_cores' twice"},
  };
  for (const auto& one : cases) {
    EXPECT_NE(refusal(altered(one.from, one.to)).find(one.told), std::string::npos)
        << one.to << ": " << refusal(altered(one.from, one.to));
  }
  EXPECT_EQ(refusal(altered("\"time_ms\":{\"mean\":30.25", "\"time_ms\":{\"mean\":1e9")), "");
}

TEST(PredictorFile, RefusesWeightsThatNoTrainingLeaves) {
  for (const float weight : {std::numeric_limits<float>::quiet_NaN(), 1.001e6F, -3e38F}) {
    Predictor predictor = example();
    predictor.power.weights.back() = weight;
    EXPECT_NE(refusal(format_predictor(predictor)).find("power_w: weights are not all numbers"),
              std::string::npos)
        << weight;
  }
  Predictor predictor = example();
  predictor.power.weights.back() = -1e6F;
  EXPECT_EQ(refusal(format_predictor(predictor)), "");
}

TEST(PredictorFile, DoesNotFollowDeepNesting) {
  std::string header = "{\"format\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}";
  std::string length;
  for (std::size_t i = 0; i < 8; ++i) length += static_cast<char>(header.size() >> (8 * i) & 0xff);
  EXPECT_NE(refusal(length + header), "");
}

}  // namespace
}  // namespace gearshift
