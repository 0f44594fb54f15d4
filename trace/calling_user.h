// Who has started the program: whose files and links it may rely on, and whom it makes files for.
#pragma once

#include <sys/types.h>

namespace gearshift {

struct CallingUser {
  uid_t user;
  gid_t group;
};

// The effective user of this process; with sudo, the one who called it.
CallingUser calling_user();

}  // namespace gearshift
