// Sets the knobs of a board file through the files of the board, and leaves the board as found.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actuators/fan.h"
#include "actuators/heat.h"
#include "actuators/knob_journal.h"
#include "boards/board_description.h"
#include "boards/sysroot.h"
#include "controller/actuator.h"

namespace gearshift {

class KnobControl;

struct BoardActuatorOptions {
  std::filesystem::path journal;  // <state folder>/knobs.journal
  JournalUse use = JournalUse::own;
  const Clock* clock = nullptr;  // of the wait for a board that heat slows down; null: none
  GuardianTerms guardian = {};
};

class BoardActuator : public Actuator {
 public:
  // Opens what can be written; each knob that cannot is absent, with its reason. Restores what an
  // earlier daemon left in the journal first. Throws BusyError while another daemon holds the
  // journal and JournalError for a damaged one; writes nothing then.
  // `root` must outlive the actuator.
  BoardActuator(const BoardDescription& board, Sysroot& root, const BoardActuatorOptions& options);
  ~BoardActuator() override;

  const KnobSpace& knobs() const override { return knobs_; }
  // `away` too, before the first write of all, while heat hides how limits were set (HeatWait).
  Progress write(std::size_t knob, std::int64_t value) override;
  std::optional<std::int64_t> read(std::size_t knob) override;
  void manage(std::int32_t pid, Kind kind) override;
  // Whether a knob puts the processes that are managed in a control group.
  bool manages() const;
  // Another process of gearshift's own, say the daemon that a helper serves: neither it nor what it
  // has started is ever put in one, whoever started it.
  void spare(std::int32_t pid);
  void restore() override;

  // Turns the fan to full speed until restore(), or says why not.
  FanPin pin_fan();

  // The board file's knobs that cannot be set here, and why.
  const std::vector<AbsentKnob>& absent() const { return absent_; }
  // False where no knob can be set: then nothing is locked, saved or written.
  bool writable() const { return !controls_.empty(); }
  // One sentence each, for people: which files each knob uses, and what a leftover journal held.
  const std::vector<std::string>& findings() const { return findings_; }
  // Those of the journal alone.
  const std::vector<std::string>& leftover() const { return leftover_; }
  // Sees to it that the journal is there while a knob is set, about once a second: where somebody
  // has removed it, it is written anew.
  void keep_journal();
  // What people should know of a write that waits, of a journal that stays though everything is
  // back, that others may remove or that somebody has removed; one sentence, empty where there is
  // nothing new.
  std::string take_complaint();
  // Why the newest write was `away`.
  const std::string& away_reason() const { return heat_.reason(); }

 private:
  void make_absent(const std::string& reason);
  bool waits_for_heat();
  void save_before_write(std::size_t knob);

  Sysroot& root_;
  KnobSpace knobs_;
  std::vector<std::unique_ptr<KnobControl>> controls_;  // indexed like knobs_
  std::vector<AbsentKnob> absent_;
  std::vector<std::string> findings_, leftover_;
  std::unique_ptr<KnobJournal> journal_;
  HeatWait heat_;
  const std::filesystem::path journal_path_;
  std::string shared_;       // a complaint
  std::string unremoved_;    // another
  std::string gone_;         // another
  bool lost_ = false;        // the journal is gone, and that it cannot be written was told
  bool limits_ = false;      // some of the knobs are limits of clocks
  std::vector<bool> saved_;  // in the journal, on disk; indexed like knobs_, empty before any is
};

}  // namespace gearshift
