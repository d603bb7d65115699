// Comes before everything else in Verilator's library: all text printed by a design goes through here (VL_PRINTF), to standard
// error. Standard output belongs to the program's results, so the descriptor of standard output ($fdisplay(1)) is replaced,
// too.
#pragma once

#include <cstdio>
#undef stdout
#define stdout stderr

[[gnu::format(printf, 1, 2)]] int hcasim_verilated_print(const char* format, ...);
