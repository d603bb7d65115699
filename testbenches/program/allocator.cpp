// Long simulations spread over more pages of 4 KiB than the host's TLB reaches: jemalloc puts the heap into huge pages, as far
// as the operating system lets it (/sys/kernel/mm/transparent_hugepage/enabled: always or madvise).
extern "C" const char* malloc_conf;
const char* malloc_conf = "thp:always";
