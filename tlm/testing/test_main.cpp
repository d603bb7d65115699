// Entry point of every test program: each test gets a fresh kernel (one process per test), and a SystemC warning or error
// fails the test that caused it.
#include <gtest/gtest.h>

#include "models/base/kernel.h"

namespace {

void report_to_gtest(const sc_core::sc_report& r, const sc_core::sc_actions& actions) {
  if (r.get_severity() == sc_core::SC_INFO) return;
  ADD_FAILURE() << "SystemC: " << r.what();
  if (actions & sc_core::SC_THROW) throw r;
}

}  // namespace

int sc_main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  sc_core::sc_report_handler::set_handler(report_to_gtest);
  sc_core::sc_report_handler::set_actions(sc_core::SC_ID_NO_SC_START_ACTIVITY_, sc_core::SC_DO_NOTHING);
  return RUN_ALL_TESTS();
}
