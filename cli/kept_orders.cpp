#include "cli/kept_orders.h"

#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>
#include <system_error>
#include <utility>

#include "boards/file_descriptor.h"
#include "cli/note_text.h"
#include "cli/state_folder.h"
#include "trace/goal_change_text.h"

namespace gearshift {
namespace {

constexpr std::string_view kHead = "gearshift orders 1\n";
constexpr std::size_t kMostBytes = 1024;
constexpr std::string_view kKilled = "the run before was killed";

// Nullopt where there is none. Throws std::runtime_error with the reason.
std::optional<std::string> read_own(const std::filesystem::path& file) {
  const FileDescriptor descriptor{
      open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)};
  if (descriptor.value < 0 && errno == ENOENT) return std::nullopt;
  struct stat found {};
  if (descriptor.value < 0 || fstat(descriptor.value, &found) != 0) {
    throw std::runtime_error(std::strerror(errno));
  }
  if (!S_ISREG(found.st_mode) || found.st_uid != geteuid()) {
    throw std::runtime_error("is no file of this user's");
  }
  std::array<char, kMostBytes + 1> text;
  const ssize_t size = read(descriptor.value, text.data(), text.size());
  if (size < 0) throw std::runtime_error(std::strerror(errno));
  return std::string(text.data(), static_cast<std::size_t>(size));
}

// Takes "word rest-of-line\n" from the front of the text; nullopt where it begins otherwise.
std::optional<std::string_view> take_line(std::string_view& text, std::string_view word) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos || !text.starts_with(word)) return std::nullopt;
  const std::string_view rest = text.substr(word.size(), end - word.size());
  text.remove_prefix(end + 1);
  return rest;
}

std::optional<std::int64_t> parse_cap(std::string_view text) {
  constexpr std::int64_t kMost_mw = 100'000'000;  // as the protocol has it
  std::int64_t cap_mw = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), cap_mw);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (!whole || cap_mw < 0 || cap_mw > kMost_mw) return std::nullopt;
  return cap_mw;
}

}  // namespace

std::string orders_text(const OrderedRun& ordered) {
  const Orders& orders = ordered.orders;
  std::string text = fmt::format("{}run {}\n", kHead, ordered.run);
  if (orders.cap_mw) text += fmt::format("cap {}\n", *orders.cap_mw);
  if (orders.goal != GoalChange()) text += "goal " + format_goal_change(orders.goal) + "\n";
  return text;
}

std::optional<OrderedRun> parse_orders(std::string_view all) {
  std::string_view text = all;
  if (!text.starts_with(kHead)) return std::nullopt;
  text.remove_prefix(kHead.size());
  const auto run = take_line(text, "run ");
  if (!run) return std::nullopt;
  OrderedRun left{std::string(*run), {}};
  if (const auto cap = take_line(text, "cap ")) {
    left.orders.cap_mw = parse_cap(*cap);
    if (!left.orders.cap_mw) return std::nullopt;
  }
  if (const auto goal = take_line(text, "goal ")) {
    const std::optional<GoalChange> change = parse_goal_change(*goal);
    if (!change) return std::nullopt;
    left.orders.goal = *change;
  }
  if (orders_text(left) != all) return std::nullopt;
  return left;
}

KeptOrders::KeptOrders(const std::filesystem::path& state_folder, std::string run,
                       std::optional<std::int64_t> power_mw)
    : file_(state_folder / "operator.orders"), run_(std::move(run)), power_mw_(power_mw) {}

Orders KeptOrders::take(const Goal& goal, std::vector<std::string>& told) {
  std::optional<std::string> text;
  std::optional<OrderedRun> left;
  try {
    text = read_own(file_);
    if (!text) return {};
    left = parse_orders(*text);
    if (!left) throw std::runtime_error("is not what gearshift writes there");
  } catch (const std::runtime_error& error) {
    told.push_back(fmt::format("{}: {}; what an operator ordered of the run before is not known",
                               file_.string(), error.what()));
    return {};
  }
  if (left->run != run_) {
    told.push_back(
        "the run before was killed, and begun with another cap, goal or board: what an "
        "operator ordered of it is forgotten");
    forget();
    return {};
  }
  orders_ = written_ = left->orders;
  judge_cap(told);
  judge_goal(goal, told);
  return orders_;
}

void KeptOrders::judge_cap(std::vector<std::string>& told) {
  std::optional<std::int64_t>& cap_mw = orders_.cap_mw;
  if (!cap_mw) return;
  const bool lower = *cap_mw > 0 && (!power_mw_ || *cap_mw < *power_mw_);
  if (lower) {
    told.push_back(
        fmt::format("{}: the cap of {} that an operator gave it goes on; `gearshift cap` "
                    "changes it",
                    kKilled, watts(*cap_mw)));
    return;
  }
  told.push_back(
      fmt::format("{}; the operator's {}, above what this one begins with, is forgotten: "
                  "`gearshift cap` gives it again",
                  kKilled, *cap_mw == 0 ? "order to lift the cap" : "cap of " + watts(*cap_mw)));
  cap_mw.reset();
}

void KeptOrders::judge_goal(const Goal& goal, std::vector<std::string>& told) {
  if (orders_.goal == GoalChange()) return;
  const std::string change = format_goal_change(orders_.goal);
  const std::string_view why = objection(goal, orders_.goal);
  if (why.empty()) {
    told.push_back(
        fmt::format("{}: the goal that an operator gave it goes on ({}); `gearshift goal` "
                    "changes it",
                    kKilled, change));
    return;
  }
  told.push_back(fmt::format("{}; the goal that an operator gave it ({}) is forgotten: {}", kKilled,
                             change, why));
  orders_.goal = {};
}

void KeptOrders::add(const Event& event) {
  if (event.type == EventType::cap && event.power_mw >= 0) orders_.cap_mw = event.power_mw;
  if (event.type != EventType::goal) return;
  if (event.goal.objective) orders_.goal.objective = event.goal.objective;
  if (event.goal.energy_weight) orders_.goal.energy_weight = event.goal.energy_weight;
}

std::string KeptOrders::write() {
  if (orders_ == written_) return {};
  written_ = orders_;
  const std::string text = orders_text({run_, orders_});
  const std::string fresh = file_.string() + ".new";
  unlink(fresh.c_str());  // which a killed run left
  const FileDescriptor descriptor{
      open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)};
  const bool whole = descriptor.value >= 0 && ::write(descriptor.value, text.data(), text.size()) ==
                                                  static_cast<ssize_t>(text.size());
  if (whole && rename(fresh.c_str(), file_.c_str()) == 0) return {};
  const int error = errno;
  unlink(fresh.c_str());
  unlink(file_.c_str());  // what was ordered before holds no more
  return fmt::format("{}: {}; a run that is killed begins again without what was ordered now",
                     file_.string(), std::strerror(error));
}

void KeptOrders::forget() {
  orders_ = written_ = {};
  unlink(file_.c_str());
}

std::unique_ptr<KeptOrders> orders_of(const RunOptions& options, const std::string& board,
                                      std::optional<std::int64_t> power_mw) {
  std::filesystem::path folder;
  try {
    folder = state_folder_of(options.state);
  } catch (const std::runtime_error&) {
    return nullptr;  // beside a helper, which has one of its own, this process may have none
  }
  return std::make_unique<KeptOrders>(
      folder,
      fmt::format("board={} power_mw={} objective={} energy_weight={}", board, power_mw.value_or(0),
                  options.goal.objective, options.goal.energy_weight),
      power_mw);
}

Time OrderedWorld::wait_until(Time deadline, EventBuffer& events) {
  const std::size_t first = events.size();
  const Time now = world_.wait_until(deadline, events);
  if (kept_ == nullptr) return now;
  for (std::size_t i = first; i < events.size(); ++i) kept_->add(events[i]);
  const std::string trouble = kept_->write();
  if (!trouble.empty()) out_.tell("gearshift: " + trouble + '\n');
  return now;
}

}  // namespace gearshift
