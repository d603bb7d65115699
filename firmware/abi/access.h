/* Access rights; the values are those of libibverbs. */
#pragma once

enum hca_access {
  HCA_ACCESS_LOCAL_WRITE = 1 << 0,
  HCA_ACCESS_REMOTE_WRITE = 1 << 1,
  HCA_ACCESS_REMOTE_READ = 1 << 2,
  HCA_ACCESS_REMOTE_ATOMIC = 1 << 3,
  HCA_ACCESS_MW_BIND = 1 << 4,
  HCA_ACCESS_ZERO_BASED = 1 << 5,
  HCA_ACCESS_ON_DEMAND = 1 << 6,
  HCA_ACCESS_HUGETLB = 1 << 7,
  HCA_ACCESS_FLUSH_GLOBAL = 1 << 8,
  HCA_ACCESS_FLUSH_PERSISTENT = 1 << 9,
  HCA_ACCESS_RELAXED_ORDERING = 1 << 20, /* the first optional bit: unknown bits from here on are ignored */
  HCA_ACCESS_OPTIONAL = 0x3ff00000,
};
