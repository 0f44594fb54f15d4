#include "actuators/board_actuator.h"

#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include "actuators/closed_folder.h"
#include "actuators/knob_control.h"

namespace gearshift {
namespace {

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : "; ") + line;
  return text;
}

// Others are a workload's own, or those of a GPU behind a driver, of which there is no file to
// lock.
bool is_file_of_board(KnobDriver driver) {
  return driver == KnobDriver::cpu_hotplug || driver == KnobDriver::cpufreq ||
         driver == KnobDriver::gpu_devfreq || driver == KnobDriver::emc_bpmp;
}

bool is_limit(KnobDriver driver) {
  return driver == KnobDriver::cpufreq || driver == KnobDriver::gpu_devfreq;
}

// That others may remove the journal, and the way out; empty where they may not. Of the folder
// itself: those above it are the administrator's.
std::string folder_complaint(const std::filesystem::path& folder) {
  const std::string why = " may write " + folder.string() +
                          ", and so remove the journal that the knobs are put back from; ";
  if (const std::optional<unsigned> owner = foreign_owner(folder)) {
    return "user " + std::to_string(*owner) + why + "chown it to user " +
           std::to_string(::geteuid());
  }
  return is_open_to_others(folder) ? "other users" + why + "chmod go-w it" : "";
}

}  // namespace

BoardActuator::BoardActuator(const BoardDescription& board, Sysroot& root,
                             const BoardActuatorOptions& options)
    : root_(root), heat_(root, options.clock), journal_path_(options.journal) {
  const auto open_all = [&] {
    controls_.clear();
    knobs_.knobs.clear();
    absent_.clear();
    findings_.clear();
    for (const KnobDescription& description : board.knobs) {
      const std::string& name = description.knob.name;
      try {
        std::string finding;
        controls_.push_back(open_knob(description, root_, finding));
        knobs_.knobs.push_back(controls_.back()->knob());
        findings_.push_back(name + ": " + finding);
      } catch (const KnobError& error) {
        absent_.push_back({name, error.what()});
      }
    }
    const std::vector<std::string> thinned = thin_modes(knobs_);
    for (std::size_t i = 0; i < thinned.size(); ++i) {
      if (!thinned[i].empty()) findings_[i] += "; " + thinned[i];
    }
  };
  open_all();
  if (controls_.empty()) return;
  const auto any_is = [&](bool (*kind)(KnobDriver)) {
    return std::any_of(board.knobs.begin(), board.knobs.end(), [&](const auto& description) {
      return kind(description.driver) && knobs_.find(description.knob.name);
    });
  };
  limits_ = any_is(is_limit);
  const bool of_board = any_is(is_file_of_board);
  const bool locks = options.use == JournalUse::own && of_board;
  try {
    journal_ = std::make_unique<KnobJournal>(
        root_, options.journal, locks ? JournalUse::own_board : options.use, options.guardian);
  } catch (const BusyError&) {
    throw;
  } catch (const JournalError&) {
    throw;
  } catch (const std::runtime_error& error) {
    make_absent(error.what());
    return;
  }
  if (options.use == JournalUse::beside) {
    for (const auto& control : controls_) control->stand_beside(*journal_);
  }
  if (journal_->owned()) shared_ = folder_complaint(options.journal.parent_path());
  const RestoreReport& leftover = journal_->leftover();
  if (leftover.restored.empty() && leftover.failed.empty() && leftover.notes.empty()) return;
  // What an earlier daemon left changes what the files say, so they are opened anew.
  open_all();
  for (const std::string& text : leftover.restored)
    leftover_.push_back("left over, restored: " + text);
  for (const std::string& text : leftover.failed) leftover_.push_back("left over, FAILED: " + text);
  for (const std::string& text : leftover.notes) leftover_.push_back("left over: " + text);
  findings_.insert(findings_.end(), leftover_.begin(), leftover_.end());
}

BoardActuator::~BoardActuator() = default;

// Without a journal nothing could be put back, so nothing is written.
void BoardActuator::make_absent(const std::string& reason) {
  for (const Knob& knob : knobs_.knobs) absent_.push_back({knob.name, reason});
  knobs_.knobs.clear();
  controls_.clear();
}

// Another process's journal has what it saved, and takes nothing more.
bool BoardActuator::waits_for_heat() {
  const bool first = std::find(saved_.begin(), saved_.end(), true) == saved_.end();
  return first && limits_ && journal_->owned() && heat_.waits();
}

// All that can be, before the first write of any: one commit takes as long as another. A knob that
// cannot be saved now is not written, and is saved when it is to be set again.
void BoardActuator::save_before_write(std::size_t knob) {
  saved_.resize(controls_.size());
  if (saved_[knob]) return;
  std::string reason;
  std::vector<std::size_t> fresh;
  for (std::size_t i = 0; i < controls_.size(); ++i) {
    if (saved_[i]) continue;
    const std::size_t before = journal_->size();
    try {
      controls_[i]->save(*journal_);
      fresh.push_back(i);
    } catch (const std::runtime_error& error) {
      journal_->drop_behind(before);
      if (i == knob) reason = error.what();
    }
  }
  journal_->commit();
  for (const std::size_t i : fresh) saved_[i] = true;
  if (!saved_[knob]) throw std::runtime_error(reason);
}

Progress BoardActuator::write(std::size_t knob, std::int64_t value) {
  assert(knob < controls_.size());
  try {
    if (waits_for_heat()) return Progress::away;
    save_before_write(knob);
    return controls_[knob]->write(value, *journal_);
  } catch (const KnobError&) {
    throw;
  } catch (const std::runtime_error& error) {
    throw KnobError(knobs_.knobs[knob].name + ": " + error.what());
  }
}

std::optional<std::int64_t> BoardActuator::read(std::size_t knob) {
  assert(knob < controls_.size());
  return controls_[knob]->read();
}

bool BoardActuator::manages() const {
  return std::any_of(controls_.begin(), controls_.end(),
                     [](const auto& control) { return control->manages(); });
}

void BoardActuator::manage(std::int32_t pid, Kind kind) {
  std::string failures;
  for (const auto& control : controls_) {
    try {
      control->manage(pid, kind, *journal_);
    } catch (const std::runtime_error& error) {
      failures += (failures.empty() ? "" : "; ") + control->knob().name + ": " + error.what();
    }
  }
  if (!failures.empty()) throw KnobError(failures);
}

void BoardActuator::spare(std::int32_t pid) {
  for (const auto& control : controls_) control->spare(pid);
}

FanPin BoardActuator::pin_fan() {
  if (journal_ == nullptr) {
    return FanPin(root_, "no knob can be set here, so nothing is saved to put it back from");
  }
  return FanPin(root_, *journal_);
}

void BoardActuator::keep_journal() {
  if (journal_ == nullptr) return;
  try {
    const bool anew = journal_->write_if_gone();
    lost_ = false;
    if (!anew) return;
    gone_ = "somebody has removed the knob journal " + journal_path_.string() +
            ", which the knobs are put back from if this process is killed; it is written anew";
  } catch (const std::runtime_error& error) {
    if (std::exchange(lost_, true)) return;
    gone_ = "somebody has removed the knob journal " + journal_path_.string() +
            " or its lock, and it cannot be written anew (" + error.what() +
            "): if this process is killed, the knobs stay as they are set; it is tried again";
  }
}

std::string BoardActuator::take_complaint() {
  if (!gone_.empty()) return std::exchange(gone_, {});
  if (!shared_.empty()) return std::exchange(shared_, {});
  return unremoved_.empty() ? heat_.take_complaint() : std::exchange(unremoved_, {});
}

void BoardActuator::restore() {
  if (journal_ == nullptr) return;
  const RestoreReport report = journal_->restore();
  saved_.clear();
  heat_.reset();
  unremoved_ = report.unremoved;
  for (const auto& control : controls_) control->restored();
  if (!report.failed.empty()) throw KnobError("not restored: " + joined(report.failed));
}

}  // namespace gearshift
