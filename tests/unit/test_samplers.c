/* Memory, disks, sockets and GPUs of two makers, on a machine of files: two NUMA nodes, a full queue, a GPU that is slowed. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "telemetry/sampler.h"
#include "tests/machine.h"

extern const struct sampler sampler_memory_pages, sampler_disks, sampler_sockets, sampler_gpu, sampler_amd_gpu, sampler_asks;

enum { SEEN_MAX = 64 };

struct seen {
  struct {
    char series[64];
    double value;
  } all[SEEN_MAX];
  size_t n;
};

static void see(void *context, const char *series, double value) {
  struct seen *s = context;
  CHECK(s->n < SEEN_MAX);
  if (s->n == SEEN_MAX) return;
  (void)snprintf(s->all[s->n].series, sizeof s->all[s->n].series, "%s", series);
  s->all[s->n++].value = value;
}

/* -1: not delivered. */
static double value_of(const struct seen *s, const char *series) {
  for (size_t i = 0; i < s->n; i++)
    if (strcmp(s->all[i].series, series) == 0) return s->all[i].value;
  return -1;
}

#define CHECK_SEEN(seen, series, expected) CHECK_NEAR(value_of(&(seen), series), expected, 1e-9)

static struct seen sample(const struct sampler *sampler, void *state, int64_t at_ms) {
  struct seen seen = {.n = 0};
  const struct sampler_sink sink = {.context = &seen, .value = see};
  sampler->sample(state, at_ms * 1000000, &sink);
  return seen;
}

/* /proc/7/stat with so many faults; thread 7 is runnable on processor 1, thread 8 sleeps on 5. */
static void put_process(int minor, int major) {
  char line[300];
  static const char rest[] = "10 5 0 0 20 0 2 0 100 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 17";
  (void)snprintf(line, sizeof line, "7 (odd) name) R 1 7 7 0 -1 0 %d 99 %d 99 %s 1 0 0", minor, major, rest);
  put("/proc/7/stat", line);
  put("/proc/7/task/7/stat", line);
  (void)snprintf(line, sizeof line, "8 (pool) S 1 7 7 0 -1 0 %d 99 %d 99 %s 5 0 0", minor, major, rest);
  put("/proc/7/task/8/stat", line);
  put("/proc/7/task/7/children", "");
}

static void check_memory(const struct root *root) {
  void *state;
  put("/sys/devices/system/node/node0/cpulist", "0-3\n");
  put("/sys/devices/system/node/node1/cpulist", "4-7\n");
  put("/proc/7/numa_maps", "00400000 default file=/usr/bin/x mapped=10 N0=10 kernelpagesize_kB=4\n"
                           "7f000000 default anon=2 N1=1 kernelpagesize_kB=2048\n"
                           "7f800000 N9999=5 Nx=3 kernelpagesize_kB=-4\n");
  put("/proc/7/statm", "900 100 50 1 0 80 0\n");
  put("/proc/vmstat", "nr_free_pages 1\npswpin 1000\npswpout 5\n");
  put("/proc/pressure/memory", "some avg10=1.50 avg60=0.00 avg300=0.00 total=9\n");
  put_process(1000, 10);
  CHECK(sampler_memory_pages.open(root, &state));
  sampler_memory_pages.watch(state, 7);
  struct seen seen = sample(&sampler_memory_pages, state, 1000);
  CHECK_SEEN(seen, "server.major_faults_per_s", -1); /* nothing to compare with */
  put_process(1500, 30);
  put("/proc/vmstat", "nr_free_pages 1\npswpin 1008\npswpout 5\n");
  seen = sample(&sampler_memory_pages, state, 3000); /* where pages lie is read now */
  CHECK_SEEN(seen, "machine.swapped_in_per_s", 4);
  put_process(1600, 32);
  seen = sample(&sampler_memory_pages, state, 5000);
  CHECK_SEEN(seen, "server.minor_faults_per_s", 50);
  CHECK_SEEN(seen, "server.major_faults_per_s", 1);
  CHECK_SEEN(seen, "server.resident_bytes", 100 * (double)sysconf(_SC_PAGESIZE));
  CHECK_SEEN(seen, "machine.swapped_in_per_s", 0);
  CHECK_SEEN(seen, "machine.memory_pressure_percent", 1.5);
  CHECK_SEEN(seen, "server.node_run_ratio", 1); /* the one that is runnable is on node 0 */
  double kilobytes = (double)sysconf(_SC_PAGESIZE) / 1024, near = 10 * 4 / kilobytes, far = 2048 / kilobytes;
  CHECK_SEEN(seen, "server.memory_elsewhere_ratio", far / (near + far));
  put_process(3, 0); /* another process of that number */
  seen = sample(&sampler_memory_pages, state, 6000);
  CHECK_SEEN(seen, "server.minor_faults_per_s", -1);
  sampler_memory_pages.watch(state, 0);
  (void)sample(&sampler_memory_pages, state, 7000);
  seen = sample(&sampler_memory_pages, state, 8000);
  CHECK_SEEN(seen, "server.minor_faults_per_s", -1);
  CHECK_SEEN(seen, "machine.memory_pressure_percent", 1.5);
  sampler_memory_pages.close(state);
}

static void put_disks(int loop_ms, int disk_ms) {
  char text[400];
  (void)snprintf(text, sizeof text, "   7 0 loop0 1 0 0 0 0 0 0 0 0 %d 0\n 259 0 nvme0n1 5 0 40 1 2 0 8 1 0 %d 9 0 0 0\ngarbage\n", loop_ms,
                 disk_ms);
  put("/proc/diskstats", text);
}

static void check_disk(const struct root *root) {
  void *state;
  put("/proc/7/io", "rchar: 9\nwchar: 1\nsyscr: 1\nsyscw: 1\nread_bytes: 4096\nwrite_bytes: 0\n");
  put("/proc/pressure/io", "some avg10=2.25 avg60=0.00 avg300=0.00 total=9\n");
  put_disks(0, 100);
  CHECK(sampler_disks.open(root, &state));
  sampler_disks.watch(state, 7);
  (void)sample(&sampler_disks, state, 1000);
  put("/proc/7/io", "rchar: 9\nread_bytes: 2004096\n");
  put_disks(2000, 1100);
  struct seen seen = sample(&sampler_disks, state, 3000);
  CHECK_SEEN(seen, "server.read_bytes_per_s", 1000000);
  CHECK_SEEN(seen, "disk.busy_ratio", 0.5);
  CHECK_SEEN(seen, "machine.disk_pressure_percent", 2.25);
  put_disks(0, 90000); /* two clocks that were read one after the other: never more than all of the time */
  seen = sample(&sampler_disks, state, 4000);
  CHECK_SEEN(seen, "disk.busy_ratio", 1);
  sampler_disks.close(state);
}

static void put_link(const char *path, const char *target) {
  char whole[300];
  put(path, "");
  (void)snprintf(whole, sizeof whole, "%s%s", top, path);
  CHECK(unlink(whole) == 0 && symlink(target, whole) == 0);
}

static void check_sockets(const struct root *root) {
  void *state;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t n = sizeof address;
  struct stat info;
  char target[64];
  int listening = socket(AF_INET, SOCK_STREAM, 0), waiting[2] = {socket(AF_INET, SOCK_STREAM, 0), socket(AF_INET, SOCK_STREAM, 0)};
  CHECK(bind(listening, (struct sockaddr *)&address, sizeof address) == 0 && listen(listening, 1) == 0);
  CHECK(getsockname(listening, (struct sockaddr *)&address, &n) == 0 && fstat(listening, &info) == 0);
  for (int i = 0; i < 2; i++) CHECK(connect(waiting[i], (struct sockaddr *)&address, n) == 0);
  (void)snprintf(target, sizeof target, "socket:[%llu]", (unsigned long long)info.st_ino);
  put_link("/proc/7/fd/3", target); /* this process's own socket, which the kernel is asked about */
  put_link("/proc/7/fd/4", "/dev/null");
  put("/proc/7/net/netstat", "TcpExt: SyncookiesSent ListenOverflows ListenDrops\nTcpExt: 1 2 100\nIpExt: a\nIpExt: 1\n");
  CHECK(sampler_sockets.open(root, &state));
  sampler_sockets.watch(state, 7);
  struct seen seen = sample(&sampler_sockets, state, 1000);
  CHECK_SEEN(seen, "server.accept_queue", 2);
  CHECK_SEEN(seen, "server.accept_full_ratio", 1);
  CHECK_SEEN(seen, "server.dropped_per_s", -1);
  put("/proc/7/net/netstat", "TcpExt: SyncookiesSent ListenOverflows ListenDrops\nTcpExt: 1 2 108\n");
  seen = sample(&sampler_sockets, state, 3000);
  CHECK_SEEN(seen, "server.dropped_per_s", 4);
  sampler_sockets.close(state);
  for (int i = 0; i < 2; i++) CHECK(close(waiting[i]) == 0);
  CHECK(close(listening) == 0);
}

/* A program that prints what nvidia-smi prints, by its public description; an older one knows only the older name of the reasons. */
static const char gpu_program[] =
    "#!/bin/sh\n"
    "case \"$1\" in *clocks_event_reasons*) echo 'Field \"clocks_event_reasons.active\" is not valid'; exit 2;; esac\n"
    "echo '0, 97, 40, 1024, 350.50, 61, 1410, 2619, 0x0000000000000004'\n"
    "echo '1, [N/A], 3, 0, [Not Supported], 83, 900, 2619, 0x0000000000000040'\n"
    "echo '2, 99, 1, 1, 1, 1, 1, 1, 0x0'\n" /* another tenant's */
    "echo '64, 1, 1, 1, 1, 1, 1, 1, 0x0'\n"
    "echo 'rubbish'\n"
    "exec sleep 60\n";

static void check_gpu(const struct root *root) {
  void *state;
  char path[200];
  CHECK(!sampler_gpu.open(root, &state)); /* no such program */
  sampler_gpu.close(state);
  put("/usr/bin/nvidia-smi", gpu_program);
  (void)snprintf(path, sizeof path, "%s/usr/bin/nvidia-smi", top);
  CHECK(chmod(path, 0777) == 0);
  CHECK(!sampler_gpu.open(root, &state)); /* anybody may write it */
  sampler_gpu.close(state);
  CHECK(chmod(path, 0700) == 0);
  CHECK(sampler_gpu.open(root, &state));
  put_link("/proc/7/fd/5", "/dev/nvidia0");
  put_link("/proc/7/fd/6", "/dev/nvidia1");
  put_link("/proc/7/fd/7", "/dev/nvidiactl");
  sampler_gpu.watch(state, 7);
  struct seen seen = {.n = 0};
  for (int i = 0; i < 1000 && value_of(&seen, "gpu.1.slowed") < 0; i++) { /* until it has begun twice, and printed */
    const struct timespec step = {.tv_nsec = 10000000};
    (void)nanosleep(&step, NULL);
    seen = sample(&sampler_gpu, state, i > 0 ? 1000 + i : 1000);
    if (i == 0) CHECK(seen.n == 0); /* of the time before the session */
  }
  CHECK_SEEN(seen, "gpu.0.busy_ratio", 0.97);
  CHECK_SEEN(seen, "gpu.0.memory_bytes", 1073741824.0);
  CHECK_SEEN(seen, "gpu.0.power_w", 350.5);
  CHECK_SEEN(seen, "gpu.0.slowed", 0);
  CHECK_SEEN(seen, "gpu.0.power_capped", 1);
  CHECK_SEEN(seen, "gpu.1.busy_ratio", -1);
  CHECK_SEEN(seen, "gpu.1.temperature_c", 83);
  CHECK_SEEN(seen, "gpu.1.slowed", 1);
  CHECK_SEEN(seen, "gpu.2.busy_ratio", -1);
  CHECK_SEEN(seen, "gpu.64.busy_ratio", -1);
  sampler_gpu.close(state); /* the program, too, has ended */
}

static void put_number(unsigned char *at, uint64_t value, size_t n) {
  for (size_t i = 0; i < n; i++) at[i] = (unsigned char)(value >> (8 * i));
}

/* A table of gpu_metrics: its size, its format, and one number, or several, at a place. */
static void put_metrics(int revision, size_t size, size_t at, size_t width, const uint64_t *values, size_t n) {
  unsigned char table[256] = {0};
  char path[300];
  put_number(table, size, 2);
  table[2] = 1;
  table[3] = (unsigned char)revision;
  for (size_t i = 0; i < n; i++) put_number(table + at + i * width, values[i], width);
  (void)snprintf(path, sizeof path, "%s/sys/class/drm/card1/device/gpu_metrics", top);
  FILE *file = fopen(path, "w");
  CHECK(file != NULL && fwrite(table, 1, size, file) == size && fclose(file) == 0);
}

static void check_amd_gpu(const struct root *root) {
  void *state;
  put("/sys/class/drm/card0/device/vendor", "0x10de\n");
  put("/sys/class/drm/card1-DP-1/status", "connected\n");
  CHECK(!sampler_amd_gpu.open(root, &state)); /* none is AMD's */
  sampler_amd_gpu.close(state);
  for (int i = 1; i <= 2; i++) {
    char path[100];
    (void)snprintf(path, sizeof path, "/sys/class/drm/card%d/device/vendor", i);
    put(path, "0x1002\n");
    (void)snprintf(path, sizeof path, "/sys/class/drm/card%d/device/drm/renderD%d/dev", i, 128 + i);
    put(path, "226:129\n");
    (void)snprintf(path, sizeof path, "/sys/class/drm/card%d/device/gpu_busy_percent", i);
    put(path, "87\n");
  }
  put("/sys/class/drm/card1/device/mem_busy_percent", "rubbish\n");
  put("/sys/class/drm/card1/device/mem_info_vram_used", "8589934592\n");
  put("/sys/class/drm/card1/device/hwmon/hwmon3/power1_input", "412000000\n"); /* this card has no power1_average */
  put("/sys/class/drm/card1/device/hwmon/hwmon3/temp2_input", "71000\n");
  put("/sys/class/drm/card1/device/hwmon/hwmon3/temp3_input", "64000\n");
  put("/sys/class/drm/card1/device/hwmon/hwmon3/freq1_input", "2100000000\n");
  put_link("/proc/7/fd/8", "/dev/dri/renderD129");
  put_link("/proc/7/fd/9", "/dev/dri/renderD130x");
  CHECK(sampler_amd_gpu.open(root, &state));
  sampler_amd_gpu.watch(state, 7);
  struct seen seen = sample(&sampler_amd_gpu, state, 1000);
  CHECK_SEEN(seen, "gpu.1.busy_ratio", 0.87);
  CHECK_SEEN(seen, "gpu.1.memory_busy_ratio", -1);
  CHECK_SEEN(seen, "gpu.1.memory_bytes", 8589934592.0);
  CHECK_SEEN(seen, "gpu.1.power_w", 412);
  CHECK_SEEN(seen, "gpu.1.temperature_c", 71);
  CHECK_SEEN(seen, "gpu.1.clock_mhz", 2100);
  CHECK_SEEN(seen, "gpu.1.slowed", -1);
  CHECK_SEEN(seen, "gpu.2.busy_ratio", -1);                              /* another tenant's */
  put_metrics(3, 120, 112, 8, (const uint64_t[]){UINT64_C(1) << 36}, 1); /* the hot spot */
  seen = sample(&sampler_amd_gpu, state, 2000);
  CHECK_SEEN(seen, "gpu.1.slowed", 1);
  CHECK_SEEN(seen, "gpu.1.power_capped", 0);
  put_metrics(3, 120, 112, 8, (const uint64_t[]){1 << 16}, 1); /* current */
  seen = sample(&sampler_amd_gpu, state, 3000);
  CHECK_SEEN(seen, "gpu.1.slowed", 0);
  CHECK_SEEN(seen, "gpu.1.power_capped", 1);
  put_metrics(4, 150, 40, 4, (const uint64_t[]){2}, 1);
  seen = sample(&sampler_amd_gpu, state, 4000);
  CHECK_SEEN(seen, "gpu.1.slowed", -1); /* 1.4 reports no reasons */
  put_metrics(3, 120, 112, 8, (const uint64_t[]){UINT64_MAX}, 1);
  seen = sample(&sampler_amd_gpu, state, 4500);
  CHECK_SEEN(seen, "gpu.1.slowed", -1); /* nor does this firmware */
  CHECK_SEEN(seen, "gpu.1.power_capped", -1);
  put_metrics(6, 200, 32, 4, (const uint64_t[]){UINT32_MAX - 99, 0, UINT32_MAX, 5, 0, 0}, 6);
  seen = sample(&sampler_amd_gpu, state, 5000);
  CHECK_SEEN(seen, "gpu.1.slowed", -1); /* nothing to compare with */
  put_metrics(6, 200, 32, 4, (const uint64_t[]){100, 10, 49, 15, 0, 0}, 6);
  seen = sample(&sampler_amd_gpu, state, 6000);
  CHECK_SEEN(seen, "gpu.1.slowed", 0.1);
  CHECK_SEEN(seen, "gpu.1.power_capped", 0.25);
  put_metrics(9, 120, 112, 8, (const uint64_t[]){UINT64_MAX}, 1); /* a table that is not known */
  seen = sample(&sampler_amd_gpu, state, 7000);
  CHECK_SEEN(seen, "gpu.1.slowed", -1);
  sampler_amd_gpu.close(state);
}

/* A process that asks us: twice on one connection, of which the second has no answer; and on one that nobody ever answers. */
static void be_server(const struct sockaddr_in *to, int listens, int ready) {
  char answer;
  (void)close(listens); /* the test listens, not this */
  int asks = socket(AF_INET, SOCK_STREAM, 0), mute = socket(AF_INET, SOCK_STREAM, 0);
  bool good = connect(asks, (const struct sockaddr *)to, sizeof *to) == 0 && connect(mute, (const struct sockaddr *)to, sizeof *to) == 0 &&
              write(asks, "a", 1) == 1 && read(asks, &answer, 1) == 1;
  (void)usleep(20000); /* the answer and the next question are not of one millisecond */
  good = good && write(asks, "b", 1) == 1;
  if (!good || write(ready, "!", 1) != 1) _exit(1);
  (void)pause();
}

static void check_asks(void) {
  static const struct root here = {""};
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t length = sizeof address;
  int listens = socket(AF_INET, SOCK_STREAM, 0), ready[2];
  char byte;
  void *state;
  CHECK(bind(listens, (struct sockaddr *)&address, sizeof address) == 0 && listen(listens, 4) == 0 && pipe(ready) == 0);
  CHECK(getsockname(listens, (struct sockaddr *)&address, &length) == 0);
  pid_t server = fork();
  if (server == 0) be_server(&address, listens, ready[1]);
  int asked = accept(listens, NULL, NULL), mute = accept(listens, NULL, NULL);
  CHECK(read(asked, &byte, 1) == 1 && write(asked, "A", 1) == 1 && read(ready[0], &byte, 1) == 1);
  CHECK(sampler_asks.open(&here, &state));
  sampler_asks.watch(state, server);
  for (int i = 0; i < 50; i++) sampler_asks.look(state);
  struct seen seen = sample(&sampler_asks, state, 1000);
  if (value_of(&seen, "server.asks") < 0) (void)printf("sock_diag does not answer here: not looked at\n");
  else {
    CHECK_SEEN(seen, "server.asks", 1);
    CHECK_SEEN(seen, "server.asks_port", ntohs(address.sin_port));
    CHECK_SEEN(seen, "server.asks_pid", 0);
    CHECK_SEEN(seen, "server.asks_lasting_open", 0.8); /* from the third look on */
  }
  CHECK(write(asked, "B", 1) == 1);
  for (int i = 0; i < 50; i++) sampler_asks.look(state);
  seen = sample(&sampler_asks, state, 2000);
  if (value_of(&seen, "server.asks") >= 0) CHECK_SEEN(seen, "server.asks", 0);
  sampler_asks.close(state);
  (void)kill(server, SIGKILL);
  (void)waitpid(server, NULL, 0);
  (void)close(asked), (void)close(mute), (void)close(listens), (void)close(ready[0]), (void)close(ready[1]);
}

int main(void) {
  machine_begin();
  const struct root root = {top};
  check_memory(&root);
  check_disk(&root);
  check_sockets(&root);
  check_gpu(&root);
  check_amd_gpu(&root);
  machine_end();
  check_asks();
  return check_end();
}
