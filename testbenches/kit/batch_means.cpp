#include "testbenches/kit/batch_means.h"

#include <cmath>
#include <limits>

namespace hcasim::kit {
namespace {

// Returns the 97.5 % quantile of Student's t, within 0.003 from 20 degrees of freedom on.
double quantile(std::size_t freedom) {
  return 1.96 + 2.4 / static_cast<double>(freedom);
}

}  // namespace

void batch_means::add(double over, double under) {
  open_.over += over;
  open_.under += under;
  if (++steps_ < width_) return;
  if (batches_.size() == most) {
    for (std::size_t i = 0; i < most / 2; ++i)
      batches_[i] = {batches_[2 * i].over + batches_[2 * i + 1].over, batches_[2 * i].under + batches_[2 * i + 1].under};
    batches_.resize(most / 2);
    width_ *= 2;  // the open batch is half of one now
    return;
  }
  batches_.push_back(open_);
  open_ = {};
  steps_ = 0;
}

double batch_means::mean() const {
  double over = 0;
  double under = 0;
  for (const batch& b : batches_) {
    over += b.over;
    under += b.under;
  }
  return under > 0 ? over / under : 0;
}

std::vector<double> batch_means::residuals() const {
  const double m = mean();
  std::vector<double> out;
  out.reserve(batches_.size());
  for (const batch& b : batches_) out.push_back(b.over - m * b.under);
  return out;
}

double batch_means::half_width() const {
  const std::size_t n = batches_.size();
  if (n < 2) return std::numeric_limits<double>::infinity();
  double squares = 0;
  for (const double r : residuals()) squares += r * r;
  double under = 0;
  for (const batch& b : batches_) under += b.under;
  if (under <= 0) return std::numeric_limits<double>::infinity();
  const auto count = static_cast<double>(n);
  return quantile(n - 1) * std::sqrt(squares / (count - 1) / count) / (under / count);
}

double batch_means::correlation() const {
  const std::vector<double> r = residuals();
  double squares = 0;
  double products = 0;
  for (std::size_t i = 0; i < r.size(); ++i) {
    squares += r[i] * r[i];
    if (i != 0) products += r[i] * r[i - 1];
  }
  return squares > 0 ? products / squares : 0;
}

bool batch_means::looks() const {
  return steps_ == 0 && (batches_.size() == first_look || batches_.size() == most);
}

bool batch_means::within(double precision) const {
  constexpr double rounding = 1e-9;  // of equal batches; its correlation says nothing
  const double share = half_width() / std::fabs(mean());
  return batches_.size() >= most / 2 && share <= precision && (share <= rounding || correlation() <= most_correlation);
}

bool batch_means::steady(double precision) const {
  return looks() && within(precision);
}

}  // namespace hcasim::kit
