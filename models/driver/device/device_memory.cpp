// Memory on the adapter: allocation, copies through the BAR window, regions [B3.5]; it outlives them [B4.4].
#include "models/driver/device/access.h"
#include "models/driver/device/device.h"
#include "models/driver/objects/registration_rules.h"

namespace hcasim::verbs {

using namespace driver;

namespace {

bool fits(const ibv_dm& dm, std::uint64_t offset, std::uint64_t length) {
  return offset <= dm.length && length <= dm.length - offset;
}

}  // namespace

ibv_dm* ibv_alloc_dm(cpu& c, ibv_context* context, std::uint64_t length) {
  device& d = *context->device;
  d.enter_kernel(c);
  auto dm = std::make_unique<device_buffer>();
  const bool lost = of(context).lost;
  if (length == 0 || lost || !d.take_device_memory(length, dm->offset)) {
    errno = length == 0 ? EINVAL : lost ? EIO : ENOMEM;
    return nullptr;
  }
  dm->context = context;
  dm->length = length;
  dm->handle = of(context).dms.add(dm.get());
  return dm.release();
}

int ibv_free_dm(cpu& c, ibv_dm* handle) {
  auto* dm = static_cast<device_buffer*>(handle);
  dm->context->device->enter_kernel(c);
  if (dm->users > 0) return EBUSY;
  if (!of(dm->context).lost) dm->context->device->put_device_memory(dm->offset, dm->length);
  of(dm->context).dms.remove(dm->handle);
  delete dm;
  return 0;
}

int ibv_memcpy_to_dm(cpu& c, ibv_dm* dm, std::uint64_t dm_offset, std::uint64_t host_addr, std::uint64_t length) {
  if (!fits(*dm, dm_offset, length) || dm_offset % 4 != 0 || length % 4 != 0) return EINVAL;
  if (of(dm->context).lost) return EIO;
  const std::uint64_t window = dm->context->device->bar() + HCA_BAR_DM + dm->offset + dm_offset;
  for (std::uint64_t done = 0; done < length; done += 4) {
    std::uint32_t word = 0;
    if (!dm->context->memory->read(host_addr + done, std::as_writable_bytes(std::span(&word, 1)))) return EFAULT;
    write_register(c, window + done, word);
  }
  return 0;
}

int ibv_memcpy_from_dm(cpu& c, std::uint64_t host_addr, ibv_dm* dm, std::uint64_t dm_offset, std::uint64_t length) {
  if (!fits(*dm, dm_offset, length) || dm_offset % 4 != 0 || length % 4 != 0) return EINVAL;
  if (of(dm->context).lost) return EIO;
  const std::uint64_t window = dm->context->device->bar() + HCA_BAR_DM + dm->offset + dm_offset;
  for (std::uint64_t done = 0; done < length; done += 4) {
    const auto word = read_register<std::uint32_t>(c, window + done);
    if (!dm->context->memory->write(host_addr + done, std::as_bytes(std::span(&word, 1)))) return EFAULT;
  }
  return 0;
}

ibv_mr* ibv_reg_dm_mr(cpu& c, ibv_pd* domain, ibv_dm* handle, std::uint64_t dm_offset, std::uint64_t length, int access) {
  auto& pd = static_cast<protection_domain&>(*domain);
  auto& dm = static_cast<device_buffer&>(*handle);
  process& p = of(pd.context);
  p.device->enter_kernel(c);
  const auto rights = static_cast<std::uint32_t>(access);
  int error = check_access(rights);
  const bool zero_based = (rights & HCA_ACCESS_ZERO_BASED) != 0 && (rights & HCA_ACCESS_MW_BIND) == 0;
  if (!error && (!zero_based || length == 0 || !fits(dm, dm_offset, length) || dm_offset % host_page != 0)) error = EINVAL;
  command_result r;
  if (!error) {
    const hca_chunk chunk{HCA_DM_BASE + dm.offset + dm_offset, align_up(length, host_page)};
    hca_region region{};
    region.length = length;
    region.access = known_access(rights);
    region.pd = pd.number;
    region.qpn = HCA_QPN_ANY;
    region.chunks = 1;
    r = run(c, &p,
            {.code = HCA_CMD_REGISTER,
             .modifier = HCA_REGISTER_DEVICE_MEMORY,
             .in = in_bytes(region),
             .list = std::as_bytes(std::span(&chunk, 1))});
    error = r.error;
  }
  if (error) return refuse(error);
  auto mr = std::make_unique<memory_region>();
  mr->kind = region_kind::device_memory;
  mr->context = pd.context;
  mr->pd = domain;
  mr->length = length;
  mr->access = rights;
  mr->buffer = &dm;
  mr->key = mr->lkey = r.value;
  mr->rkey = shown_rkey(r.value, rights, p.device->config().rkey_zero_without_remote_rights);
  mr->handle = p.mrs.add(mr.get());
  ++dm.users;
  ++pd.users;
  return mr.release();
}

}  // namespace hcasim::verbs
