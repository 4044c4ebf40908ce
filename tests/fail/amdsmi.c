/* Synthetic: a libamd_smi.so for machines without one, in the shape of ROCm 6.2 (its header's sizes). It answers like a driver with two
 * GPUs on two sockets; without LYNX_AMDSMI it has no driver. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int amdsmi_init(uint64_t flags);
int amdsmi_get_socket_handles(uint32_t *n, void **sockets);
int amdsmi_get_processor_handles(void *socket, uint32_t *n, void **devices);
int amdsmi_get_gpu_asic_info(void *device, char *info);
int amdsmi_get_gpu_driver_info(void *device, char *info);
int amdsmi_get_gpu_device_uuid(void *device, unsigned *length, char *uuid);
int amdsmi_get_gpu_compute_partition(void *device, char *text, uint32_t length);
int amdsmi_get_gpu_memory_partition(void *device, char *text, uint32_t length);
int amdsmi_get_gpu_memory_total(void *device, int type, uint64_t *bytes);
int amdsmi_get_gpu_perf_level(void *device, unsigned *level);
int amdsmi_get_gpu_total_ecc_count(void *device, uint64_t errors[8]);
int amdsmi_get_temp_metric(void *device, int sensor, int metric, int64_t *degrees);
int amdsmi_topo_get_link_type(void *a, void *b, uint64_t *hops, unsigned *type);

static int places[2];

int amdsmi_init(uint64_t flags) {
  return getenv("LYNX_AMDSMI") == NULL || flags != 2 ? 34 : 0;
}

int amdsmi_get_socket_handles(uint32_t *n, void **sockets) {
  *n = 2;
  for (int i = 0; sockets != NULL && i < 2; i++) sockets[i] = &places[i];
  return 0;
}

int amdsmi_get_processor_handles(void *socket, uint32_t *n, void **devices) {
  *n = 1;
  if (devices != NULL) devices[0] = socket;
  return 0;
}

int amdsmi_get_gpu_asic_info(void *device, char *info) {
  (void)device;
  memset(info, 0, 896);
  (void)snprintf(info, 256, "Synthetic Instinct MI300X");
  return 0;
}

int amdsmi_get_gpu_driver_info(void *device, char *info) {
  (void)device;
  (void)snprintf(info, 64, "6.8.5");
  return 0;
}

int amdsmi_get_gpu_device_uuid(void *device, unsigned *length, char *uuid) {
  (void)snprintf(uuid, *length, "%dff74a1-0000-1000-80b2-a2fd1a7d6d86", device == &places[1]);
  return 0;
}

int amdsmi_get_gpu_compute_partition(void *device, char *text, uint32_t length) {
  (void)device;
  (void)snprintf(text, length, "SPX");
  return 0;
}

int amdsmi_get_gpu_memory_partition(void *device, char *text, uint32_t length) {
  (void)device;
  (void)text;
  (void)length;
  return 10; /* no permission */
}

int amdsmi_get_gpu_memory_total(void *device, int type, uint64_t *bytes) {
  (void)device;
  *bytes = type == 0 ? 206141652992ull : 0;
  return 0;
}

int amdsmi_get_gpu_perf_level(void *device, unsigned *level) {
  *level = device == &places[1] ? 3 : 0;
  return 0;
}

int amdsmi_get_gpu_total_ecc_count(void *device, uint64_t errors[8]) {
  (void)device;
  memset(errors, 0, 64);
  errors[0] = 3;
  return 0;
}

int amdsmi_get_temp_metric(void *device, int sensor, int metric, int64_t *degrees) {
  (void)device;
  *degrees = 48;
  return sensor == 1 && metric == 0 ? 0 : 2;
}

int amdsmi_topo_get_link_type(void *a, void *b, uint64_t *hops, unsigned *type) {
  (void)a;
  (void)b;
  *hops = 1;
  *type = 2;
  return 0;
}
