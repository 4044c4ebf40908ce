/* Synthetic: a libnvidia-ml.so.1 for machines without one. It answers like a driver with two GPUs, hangs, or crashes, as LYNX_NVML
 * says; what it holds lynxbench to is that a capture survives whatever the real one does. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int nvmlInit_v2(void);
int nvmlSystemGetDriverVersion(char *text, unsigned size);
int nvmlSystemGetCudaDriverVersion_v2(int *version);
int nvmlDeviceGetCount_v2(unsigned *n);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device);
int nvmlDeviceGetName(void *device, char *text, unsigned size);
int nvmlDeviceGetUUID(void *device, char *text, unsigned size);
int nvmlDeviceGetPowerManagementLimit(void *device, unsigned *milliwatts);
int nvmlDeviceGetEccMode(void *device, unsigned *now, unsigned *pending);
int nvmlDeviceGetCudaComputeCapability(void *device, int *major, int *minor);
int nvmlDeviceGetCurrentClocksEventReasons(void *device, unsigned long long *reasons);
int nvmlDeviceGetSerial(void *device, char *text, unsigned size);
int nvmlDeviceGetClock(void *device, int type, int which, unsigned *megahertz);
int nvmlDeviceGetMemoryInfo(void *device, unsigned long long memory[3]);

static int is(const char *what) {
  const char *mode = getenv("LYNX_NVML");
  return mode != NULL && strcmp(mode, what) == 0;
}

int nvmlInit_v2(void) {
  while (is("hang")) (void)sleep(60);
  return is("mismatch") ? 18 : 0;
}

int nvmlSystemGetDriverVersion(char *text, unsigned size) {
  (void)snprintf(text, size, "550.54.15");
  return 0;
}

int nvmlSystemGetCudaDriverVersion_v2(int *version) {
  *version = 12040;
  return 0;
}

int nvmlDeviceGetCount_v2(unsigned *n) {
  *n = 2;
  return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) {
  static int devices[2];
  *device = &devices[index];
  return 0;
}

int nvmlDeviceGetName(void *device, char *text, unsigned size) {
  (void)device;
  if (is("crash")) abort();
  (void)snprintf(text, size, "Synthetic H100");
  return 0;
}

int nvmlDeviceGetUUID(void *device, char *text, unsigned size) {
  (void)snprintf(text, size, "GPU-%p", device);
  return 0;
}

int nvmlDeviceGetPowerManagementLimit(void *device, unsigned *milliwatts) {
  (void)device;
  *milliwatts = 700000;
  return 0;
}

int nvmlDeviceGetEccMode(void *device, unsigned *now, unsigned *pending) {
  (void)device;
  *now = *pending = 1;
  return 0;
}

int nvmlDeviceGetCudaComputeCapability(void *device, int *major, int *minor) {
  (void)device;
  *major = 9;
  *minor = 0;
  return 0;
}

int nvmlDeviceGetCurrentClocksEventReasons(void *device, unsigned long long *reasons) {
  (void)device;
  *reasons = 0x4 | 0x20;
  return 0;
}

int nvmlDeviceGetClock(void *device, int type, int which, unsigned *megahertz) {
  (void)device;
  *megahertz = which == 1 ? 1410 : 1980;
  return type == 0 ? 0 : 3;
}

int nvmlDeviceGetSerial(void *device, char *text, unsigned size) {
  (void)device;
  (void)text;
  (void)size;
  return 4; /* no permission */
}

int nvmlDeviceGetMemoryInfo(void *device, unsigned long long memory[3]) {
  (void)device;
  memory[0] = 85899345920ull;
  memory[1] = 80000000000ull;
  memory[2] = 5899345920ull;
  return 0;
}
