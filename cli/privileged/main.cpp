// The gearshift-helper program: sets a board's knobs for a daemon that runs as an ordinary user. It
// links what sets knobs and nothing else.
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>

#include "actuators/knob_journal.h"
#include "actuators/knob_server.h"
#include "cli/boottime_clock.h"
#include "cli/commands.h"
#include "cli/outlet.h"
#include "cli/select_board.h"
#include "cli/service_notice.h"
#include "cli/standard_descriptors.h"
#include "cli/state_folder.h"

namespace gearshift {
namespace {

struct HelperOptions {
  std::string board = "auto";
  std::string gpu;
  std::string sysroot = "/";
  std::string socket = "/run/gearshift-helper.sock";
  std::string user;
  std::string state;
};

std::uint32_t user_of(const std::string& text) {
  std::uint32_t user = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, user);
  if (error == std::errc() && stop == end) return user;
  if (const passwd* found = getpwnam(text.c_str())) return found->pw_uid;
  throw std::invalid_argument("--user " + text +
                              ": this machine has no such user; give the name or the number of "
                              "the one that gearshift run runs as");
}

// Its guardians, which are processes of their own, write through their copy of it.
void tell(const std::string& text) {
  static Outlet out(STDERR_FILENO);
  out.tell("gearshift helper: " + text + '\n');
}

// Readable once the process is asked to end. Blocked signals reach neither this process nor its
// guardians in any other way.
int stop_descriptor() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, signal);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  const int descriptor = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (descriptor < 0) throw std::runtime_error(std::string("signalfd: ") + std::strerror(errno));
  return descriptor;
}

void serve(const HelperOptions& options) {
  const std::uint32_t user = options.user.empty() ? geteuid() : user_of(options.user);
  // Whatever is started from here gets no more rights, and nobody may look into this process.
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  prctl(PR_SET_DUMPABLE, 0);
  std::signal(SIGPIPE, SIG_IGN);  // nobody has to read what is told
  std::signal(SIGXFSZ, SIG_IGN);  // nor has it to fit into its file
  const int stop = stop_descriptor();
  Sysroot root(options.sysroot);
  const BoardDescription board = select_board(options.board, root, options.gpu);
  const BoottimeClock clock;
  const std::filesystem::path state =
      options.state.empty() ? default_state_folder() : std::filesystem::path(options.state);
  KnobServer server(
      board, root, clock,
      {.socket = options.socket, .journal = journal_path(state), .user = user, .tell = tell});
  std::printf("board %s (%s)\n", board.name.c_str(), board.id.c_str());
  for (const std::string& finding : server.findings()) std::printf("  %s\n", finding.c_str());
  std::printf("ready: user %u may set these knobs through %s\n", user, options.socket.c_str());
  std::fflush(stdout);
  ServiceNotice::from_environment().send("READY=1");
  server.run(stop);
}

int serve_to_the_end(const HelperOptions& options) {
  try {
    serve(options);
    return kExitOk;
  } catch (const std::invalid_argument& error) {
    tell(error.what());
    return kExitUsage;
  } catch (const BusyError& error) {
    tell(error.what());
    return kExitBusy;
  } catch (const std::exception& error) {
    tell(error.what());
    return kExitFailed;
  }
}

void add_flags(CLI::App& app, HelperOptions& options) {
  app.add_option("--board", options.board,
                 "auto, a board's id (see gearshift boards) or a board file; the daemon's too")
      ->capture_default_str();
  app.add_option("--gpu", options.gpu,
                 "which NVIDIA GPU: an index or a UUID (default: the board file's)");
  app.add_option("--sysroot", options.sysroot,
                 "prefix of the board's files: / or where a virtual board is mounted")
      ->check(CLI::ExistingDirectory)
      ->capture_default_str();
  app.add_option("--socket", options.socket,
                 "where the daemon connects: a path in a folder that others may not write")
      ->capture_default_str();
  app.add_option("--user", options.user,
                 "name or number of the user that may connect, beside root (default: this one)");
  app.add_option("--state", options.state,
                 "folder of the knob journal; default: /var/lib/gearshift as root");
}

}  // namespace
}  // namespace gearshift

int main(int argc, char** argv) {
  gearshift::fill_standard_descriptors();
  CLI::App app{
      "Sets a board's knobs for a daemon that runs as an ordinary user. Only this program needs "
      "root:\n"
      "it takes settings within the board's knob space from one user over a Unix socket, saves how "
      "it\n"
      "finds every knob, and puts them back when the daemon goes, however it does. A daemon that "
      "says\n"
      "nothing for a second gets the safe mode until it goes on.",
      "gearshift helper"};
  app.footer(
      "Example: as root, and then as user nvidia\n"
      "  gearshift helper --user nvidia\n"
      "  gearshift run --helper /run/gearshift-helper.sock --power 30W\n"
      "SIGTERM or Ctrl-C ends it, knobs put back. docs/security.md says what it defends against.");
  gearshift::HelperOptions options;
  gearshift::add_flags(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? gearshift::kExitOk : gearshift::kExitUsage;
  }
  return gearshift::serve_to_the_end(options);
}
