// Every fuzz target on its corpus and on a few hundred mutations of it, without libFuzzer: what CI
// runs of `make fuzz`. A target that finds a fault aborts, and the input is named then.
#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#define GEARSHIFT_FUZZ_TARGET(name) extern "C" int name(const std::uint8_t* data, std::size_t size);
#include <fuzz_targets.inc>
#undef GEARSHIFT_FUZZ_TARGET

namespace gearshift {
namespace {

using FuzzTarget = int (*)(const std::uint8_t* data, std::size_t size);

struct NamedTarget {
  std::string_view name;
  FuzzTarget run;
};

constexpr NamedTarget kTargets[] = {
#define GEARSHIFT_FUZZ_TARGET(name) {#name, name},
#include <fuzz_targets.inc>
#undef GEARSHIFT_FUZZ_TARGET
};

constexpr std::size_t kInputs = 300;  // of a target
constexpr std::size_t kMostBytes = 1 << 16;

std::string running;  // what a target is at work on

void tell_input(int) {
  std::fprintf(stderr, "aborted: %s\n", running.c_str());
  std::signal(SIGABRT, SIG_DFL);
}

std::vector<std::filesystem::path> seeds(std::string_view target) {
  const std::string folder = GEARSHIFT_SOURCE_DIR "/tests/fuzz/corpus/";
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(
           folder + std::string(target.substr(0, target.rfind("_fuzz"))))) {
    found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// One to eight small changes: a bit, a byte, a piece that goes, comes twice or comes from `other`.
std::string mutated(std::string text, const std::string& other, std::mt19937_64& random) {
  const auto below = [&](std::size_t limit) { return limit == 0 ? 0 : random() % limit; };
  for (std::size_t changes = 1 + below(8); changes > 0; --changes) {
    const std::size_t place = below(text.size());
    const std::size_t length = below(std::min<std::size_t>(text.size() - place, 16) + 1);
    switch (text.empty() ? 4 : below(6)) {
      case 0:
        text[place] = static_cast<char>(text[place] ^ (1 << below(8)));
        break;
      case 1:
        text[place] = static_cast<char>(random());
        break;
      case 2:
        text.erase(place, length);
        break;
      case 3:
        text.insert(place, text.substr(place, length));
        break;
      case 4:
        text.insert(place, other.substr(below(other.size()), 1 + below(32)));
        break;
      default:
        text.resize(place);
    }
  }
  if (text.size() > kMostBytes) text.resize(kMostBytes);
  return text;
}

class FuzzTargets : public testing::TestWithParam<NamedTarget> {};

TEST_P(FuzzTargets, TakeTheirCorpusAndMutationsOfIt) {
  std::signal(SIGABRT, tell_input);
  const auto files = seeds(GetParam().name);
  ASSERT_FALSE(files.empty());
  std::vector<std::string> corpus;
  for (const auto& file : files) corpus.push_back(bytes_of(file));
  std::mt19937_64 random(1);
  for (std::size_t i = 0; i < kInputs; ++i) {
    const std::size_t seed = i % corpus.size();
    const bool plain = i < corpus.size();
    const std::string input =
        plain ? corpus[seed] : mutated(corpus[seed], corpus[random() % corpus.size()], random);
    running = files[seed].string() + (plain ? "" : ", mutated, input " + std::to_string(i));
    EXPECT_EQ(GetParam().run(reinterpret_cast<const std::uint8_t*>(input.data()), input.size()), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(All, FuzzTargets, testing::ValuesIn(kTargets),
                         [](const auto& target) { return std::string(target.param.name); });

TEST(FuzzTargetsList, IsNotEmpty) { EXPECT_GE(std::size(kTargets), 20u); }

}  // namespace
}  // namespace gearshift
