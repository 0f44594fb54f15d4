#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "boards/board_description.h"
#include "tests/fakes/temp_tree.h"

namespace gearshift {
namespace {

using fakes::TempTree;

constexpr std::string_view kProc = "/proc/device-tree/compatible";
constexpr std::string_view kSys = "/sys/firmware/devicetree/base/compatible";

// As in a device tree: each entry ends in NUL.
std::string device_tree(const std::vector<std::string>& entries) {
  std::string text;
  for (const std::string& entry : entries) text += entry + '\0';
  return text;
}

bool says(const Detection& detection, std::string_view words) {
  return std::any_of(detection.evidence.begin(), detection.evidence.end(),
                     [&](const auto& line) { return line.find(words) != std::string::npos; });
}

std::string all_of(const Detection& detection) {
  std::string text;
  for (const std::string& line : detection.evidence) text += line + '\n';
  return text;
}

struct DetectionCase {
  const char* what;
  std::vector<std::string> compatible;
  std::string_view path;
  const char* release;  // first line of /etc/nv_tegra_release; null: no such file
  const char* kernel;
  const char* board;
  const char* evidence;
};

const std::vector<std::string> kOrin64 = {"nvidia,p3737-0000+p3701-0005", "nvidia,p3701-0005",
                                          "nvidia,tegra234"};
constexpr char kR36[] = "# R36 (release), REVISION: 4.4, GCID: 1, BOARD: generic, EABI: aarch64";
constexpr char kR35[] = "# R35 (release), REVISION: 4.1, GCID: 1, BOARD: t186ref, EABI: aarch64";
constexpr char kR34[] = "# R34 (release), REVISION: 1.1, GCID: 1, BOARD: t186ref, EABI: aarch64";
constexpr char kR00[] = "# R00 (debug), REVISION: 0.0";

const DetectionCase kCases[] = {
    {"AGX Orin, JetPack 6", kOrin64, kProc, kR36, "5.15.148-tegra", "jetson-agx-orin",
     "compatible: nvidia,p3737-0000+p3701-0005 (/proc/device-tree/compatible)"},
    {"AGX Orin, JetPack 5.1", kOrin64, kProc, kR35, "5.10.120-tegra", "jetson-agx-orin-jetpack5",
     "L4T release: 35 (/etc/nv_tegra_release)"},
    {"AGX Orin, JetPack 5.0", kOrin64, kProc, kR34, "5.10.65-tegra", "jetson-agx-orin-jetpack5",
     "L4T release: 34"},
    {"device tree under /sys only", kOrin64, kSys, kR36, "5.15.148-tegra", "jetson-agx-orin",
     "(/sys/firmware/devicetree/base/compatible)"},
    {"module on another maker's carrier",
     {"acme,carrier", "nvidia,p9999-0000+p3701-0004"},
     kProc,
     kR36,
     "5.15.148-tegra",
     "jetson-agx-orin",
     "compatible: nvidia,p9999-0000+p3701-0004"},
    {"module told only by the joined entry",
     {"nvidia,p3737-0000+p3701-0000", "nvidia,tegra234"},
     kProc,
     kR35,
     "5.10.120-tegra",
     "jetson-agx-orin-jetpack5",
     "compatible: nvidia,p3737-0000+p3701-0000"},
    {"container: no release file", kOrin64, kProc, nullptr, "5.10.120-tegra",
     "jetson-agx-orin-jetpack5", "L4T release: 35, by its kernel 5.10.120-tegra"},
    {"debug release", kOrin64, kProc, kR00, "5.15.136-tegra", "jetson-agx-orin",
     "not told by '# R00 (debug), REVISION: 0.0'"},
    {"release of the future", kOrin64, kProc, "# R41 (release), REVISION: 1.0", "6.12.0-tegra",
     "jetson-agx-orin",
     "L4T 41: no board file was written for it; taking the newest of this module, jetson-agx-orin"},
    {"nothing tells the release", kOrin64, kProc, nullptr, "6.12.0-custom", "jetson-agx-orin",
     "L4T release unknown; taking the newest"},
    {"Orin Nano Super",
     {"nvidia,p3768-0000+p3767-0005-super", "nvidia,tegra234"},
     kProc,
     kR36,
     "5.15.148-tegra",
     "jetson-orin-nano-super",
     "compatible: nvidia,p3768-0000+p3767-0005-super"},
    {"Orin Nano before Super",
     {"nvidia,p3768-0000+p3767-0005", "nvidia,tegra234"},
     kProc,
     kR35,
     "5.10.120-tegra",
     "jetson-orin-nano",
     "compatible: nvidia,p3768-0000+p3767-0005"},
    {"Orin NX Super",
     {"nvidia,p3768-0000+p3767-0000-super", "nvidia,tegra234"},
     kProc,
     kR36,
     "5.15.148-tegra",
     "jetson-orin-nx",
     "L4T release: 36"},
    {"AGX Xavier",
     {"nvidia,p2972-0000", "nvidia,p2822-0000+p2888-0001", "nvidia,tegra194"},
     kProc,
     kR35,
     "5.10.120-tegra",
     "jetson-agx-xavier",
     "compatible: nvidia,p2972-0000"},
    {"AGX Xavier 8 GB, whose kit is named before its module",
     {"nvidia,p2972-0000", "nvidia,p2822-0000+p2888-0006", "nvidia,tegra194"},
     kProc,
     kR35,
     "5.10.120-tegra",
     "jetson-agx-xavier-8gb",
     "compatible: nvidia,p2972-0000"},
    {"AGX Xavier, by its kit alone",
     {"nvidia,p2972-0000", "nvidia,galen", "nvidia,jetson-xavier", "nvidia,tegra194"},
     kProc,
     kR35,
     "5.10.120-tegra",
     "jetson-agx-xavier",
     "compatible: nvidia,p2972-0000"},
    {"Xavier NX",
     {"nvidia,p3509-0000+p3668-0000", "nvidia,tegra194"},
     kProc,
     kR35,
     "5.10.120-tegra",
     "jetson-xavier-nx",
     "compatible: nvidia,p3509-0000+p3668-0000"},
    {"TX2, which no file names",
     {"nvidia,p2771-0000", "nvidia,tegra186"},
     kProc,
     "# R32 (release), REVISION: 7.1",
     "4.9.253-tegra",
     "host",
     "a Jetson that no board file names"},
    {"a longer number is another module",
     {"nvidia,p3701-00050", "nvidia,tegra234"},
     kProc,
     kR36,
     "5.15.148-tegra",
     "host",
     "--board FILE.toml"},
    {"a super variant is another module",
     {"nvidia,p3737-0000+p3701-0005-super"},
     kProc,
     kR36,
     "5.15.148-tegra",
     "host",
     "not a Jetson"},
    {"another vendor's p3701-0005",
     {"acme,p3701-0005"},
     kProc,
     nullptr,
     "6.1.0",
     "host",
     "not a Jetson"},
    {"Nano, JetPack 4",
     {"nvidia,p3449-0000-b00+p3448-0000-b00", "nvidia,tegra210"},
     kProc,
     "# R32 (release), REVISION: 7.1",
     "4.9.253-tegra",
     "jetson-nano",
     "compatible: nvidia,p3449-0000-b00+p3448-0000-b00"},
    {"Raspberry Pi",
     {"raspberrypi,4-model-b", "brcm,bcm2711"},
     kProc,
     nullptr,
     "6.1.21-v8+",
     "host",
     "not a Jetson"},
    {"empty device tree", {}, kProc, nullptr, "6.1.0", "host", "not a Jetson"},
};

TEST(Detection, ChoosesTheBoardFileAndSaysWhy) {
  for (const DetectionCase& entry : kCases) {
    SCOPED_TRACE(entry.what);
    const TempTree tree;
    tree.put(entry.path, device_tree(entry.compatible));
    if (entry.release) tree.put("/etc/nv_tegra_release", std::string(entry.release) + "\n# more\n");
    tree.put("/proc/sys/kernel/osrelease", std::string(entry.kernel) + "\n");
    const Sysroot root(tree.root());
    const Detection detection = detect_board(root, built_in_boards());
    ASSERT_NE(detection.board, nullptr);
    EXPECT_EQ(detection.board->id, entry.board) << all_of(detection);
    EXPECT_TRUE(says(detection, entry.evidence)) << all_of(detection);
    EXPECT_TRUE(says(detection, "board: " + detection.board->id)) << all_of(detection);
  }
}

TEST(Detection, TakesAPlainComputerForTheHost) {
  const TempTree tree;
  const Sysroot root(tree.root());
  const Detection detection = detect_board(root, built_in_boards());
  EXPECT_EQ(detection.board->id, "host");
  EXPECT_TRUE(says(detection, "no /proc/device-tree/compatible"));
  EXPECT_TRUE(says(detection, "no /sys/firmware/devicetree/base/compatible"));
}

TEST(Detection, ShowsTheModelTextAndIgnoresIt) {
  const TempTree tree;
  tree.put(kProc, device_tree({"raspberrypi,4-model-b"}));
  tree.put("/proc/device-tree/model", std::string("NVIDIA Jetson AGX Orin Developer Kit\0", 37));
  const Sysroot root(tree.root());
  const Detection detection = detect_board(root, built_in_boards());
  EXPECT_EQ(detection.board->id, "host");
  EXPECT_TRUE(says(detection, "model text: NVIDIA Jetson AGX Orin Developer Kit (not used"));
}

// The developer kit's name is that of no module, and its device tree may name none.
TEST(Detection, AKitsModuleIsToldByTheSourceOfTheDeviceTree) {
  const auto board_from = [](std::string_view source) {
    const TempTree tree;
    tree.put(kProc, device_tree({"nvidia,p2972-0000", "nvidia,galen", "nvidia,tegra194"}));
    tree.put("/etc/nv_tegra_release", kR35);
    tree.put("/proc/device-tree/nvidia,dtsfilename", std::string(source) + '\0');
    const Detection detection = detect_board(Sysroot(tree.root()), built_in_boards());
    EXPECT_TRUE(says(detection, "device tree source: tegra194")) << all_of(detection);
    return detection.board->id;
  };
  EXPECT_EQ(board_from("/dvs/kernel-dts/tegra194-p2888-0006-p2822-0000.dts"),
            "jetson-agx-xavier-8gb");
  EXPECT_EQ(board_from("tegra194-p2888-0001-p2822-0000.dts"), "jetson-agx-xavier");
  EXPECT_EQ(board_from("tegra194-p2888-00061-p2822-0000.dts"), "jetson-agx-xavier");
}

BoardDescription board_of(std::string id, std::vector<std::string> compatible,
                          std::vector<int> l4t_majors) {
  BoardDescription board;
  board.id = std::move(id);
  board.compatible = std::move(compatible);
  board.l4t_majors = std::move(l4t_majors);
  return board;
}

TEST(Detection, TheMoreSpecificEntryWinsOverTheOrderOfTheFiles) {
  const std::vector<BoardDescription> boards = {board_of("any-tegra234", {"nvidia,tegra234"}, {}),
                                                board_of("host", {}, {}),
                                                board_of("module", {"nvidia,p3701-0005"}, {})};
  const TempTree tree;
  tree.put(kProc, device_tree(kOrin64));
  EXPECT_EQ(detect_board(Sysroot(tree.root()), boards).board->id, "module");
}

TEST(Detection, AFileForEveryReleaseServesThoseWithoutTheirOwn) {
  const std::vector<BoardDescription> boards = {board_of("host", {}, {}),
                                                board_of("every", {"nvidia,p3701-0005"}, {}),
                                                board_of("old", {"nvidia,p3701-0005"}, {35})};
  const TempTree tree;
  tree.put(kProc, device_tree(kOrin64));
  tree.put("/etc/nv_tegra_release", kR36);
  EXPECT_EQ(detect_board(Sysroot(tree.root()), boards).board->id, "every");
  tree.put("/etc/nv_tegra_release", kR35);
  EXPECT_EQ(detect_board(Sysroot(tree.root()), boards).board->id, "old");
}

TEST(Detection, NeedsABoardToFallBackTo) {
  const std::vector<BoardDescription> boards = {board_of("module", {"nvidia,p3701-0005"}, {})};
  const TempTree tree;
  EXPECT_THROW(detect_board(Sysroot(tree.root()), boards), std::invalid_argument);
}

}  // namespace
}  // namespace gearshift
