// Comes before everything else in Verilator's library: all text printed by a design goes through here (VL_PRINTF).
#pragma once

[[gnu::format(printf, 1, 2)]] int hcasim_verilated_print(const char* format, ...);
