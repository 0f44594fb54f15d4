// Standard input, output and error: a program may be started without some of them.
#pragma once

namespace gearshift {

// First thing in main: what is missing of the three would be the next file that is opened, and what
// the program tells would be written into the knob journal's lock, say. Each becomes /dev/null,
// opened so that it can be neither read nor written, as if it were closed still. Ends the program
// where there is no /dev/null.
void fill_standard_descriptors();

}  // namespace gearshift
