#include "tlm/base/reports.h"

#include <iostream>

#include "tlm/base/ending.h"

namespace hcasim {

std::string text_of(const sc_core::sc_report& r) {
  std::string text = sc_core::sc_report_compose_message(r);
  const std::size_t at = text.rfind(" @ ");
  if (at == std::string::npos || text.find('\n', at) != std::string::npos) return text;
  char time[64];
  const std::size_t n = ending::fixed_text(time, sizeof time).add_ns(static_cast<unsigned long long>(now().count())).size();
  return text.replace(at + 3, std::string::npos, time, n);
}

void show_reports_in_time() {
  if (sc_core::sc_report_handler::get_handler() != &sc_core::sc_report_handler::default_handler) return;
  sc_core::sc_report_handler::set_handler([](const sc_core::sc_report& r, const sc_core::sc_actions& actions) {
    if (actions & sc_core::SC_DISPLAY) std::cout << "\n" << text_of(r) << std::endl;
    sc_core::sc_report_handler::default_handler(r, actions & ~sc_core::sc_actions{sc_core::SC_DISPLAY});
  });
}

}  // namespace hcasim
