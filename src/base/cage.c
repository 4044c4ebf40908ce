#include "base/cage.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/status.h"

/* --- files --- */

/* linux/landlock.h of Debian 12 lacks some of them. */
enum {
  RIGHT_WRITE = 1 << 1,
  RIGHT_REMOVE_DIR = 1 << 4,
  RIGHT_REMOVE_FILE = 1 << 5,
  RIGHT_MAKE_ALL = 0x7f << 6, /* characters, folders, files, sockets, pipes, blocks, links */
  RIGHT_REFER = 1 << 13,      /* from version 2 */
  RIGHT_TRUNCATE = 1 << 14,   /* from version 3 */
  RULESET_VERSION = 1 << 0,
  RULE_PATH_BENEATH = 1,
  RIGHTS_IN_FOLDER = RIGHT_WRITE | RIGHT_REMOVE_DIR | RIGHT_REMOVE_FILE | 1 << 7 | 1 << 8 /* folders, files */
};

static int landlock_version(void) {
#ifdef SYS_landlock_create_ruleset
  return (int)syscall(SYS_landlock_create_ruleset, NULL, 0, RULESET_VERSION);
#else
  return -1;
#endif
}

#if defined SYS_landlock_add_rule
static void allow(int ruleset, const char *path, uint64_t rights) {
  struct {
    uint64_t allowed_access;
    int32_t parent_fd;
  } __attribute__((packed)) rule = {rights, open(path, O_PATH | O_CLOEXEC)};
  if (rule.parent_fd < 0) return; /* then nothing may be written there */
  (void)syscall(SYS_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &rule, 0);
  (void)close(rule.parent_fd);
}
#endif

static void keep_files(const struct cage *cage) {
#if defined SYS_landlock_create_ruleset && defined SYS_landlock_restrict_self && defined SYS_landlock_add_rule
  struct {
    uint64_t handled_access_fs;
  } rules = {RIGHT_WRITE | RIGHT_REMOVE_DIR | RIGHT_REMOVE_FILE | RIGHT_MAKE_ALL};
  int version = landlock_version();
  if (version >= 2) rules.handled_access_fs |= RIGHT_REFER;
  if (version >= 3) rules.handled_access_fs |= RIGHT_TRUNCATE;
  long fd = version >= 1 ? syscall(SYS_landlock_create_ruleset, &rules, sizeof rules, 0) : -1;
  if (fd < 0) return;
  const uint64_t truncate = version >= 3 ? RIGHT_TRUNCATE : 0;
  for (size_t i = 0; i < cage->n_folders; i++) allow((int)fd, cage->folders[i], RIGHTS_IN_FOLDER | truncate);
  for (size_t i = 0; i < cage->n_files; i++) allow((int)fd, cage->files[i], RIGHT_WRITE | truncate);
  (void)syscall(SYS_landlock_restrict_self, (int)fd, 0);
  (void)close((int)fd);
#else
  (void)cage;
#endif
}

/* --- calls --- */

#if defined __x86_64__
#define OWN_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define OWN_ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

static const int refused_calls[] = {
    SYS_execve,
    SYS_execveat,
    SYS_bind,
    SYS_listen,
    SYS_ptrace,
    SYS_kill,
    SYS_tkill,
    SYS_rt_sigqueueinfo,
    SYS_rt_tgsigqueueinfo,
    SYS_setpriority,
    SYS_ioprio_set,
    SYS_sched_setscheduler,
    SYS_sched_setattr,
    SYS_sched_setparam,
    SYS_migrate_pages,
    SYS_move_pages,
    SYS_kcmp,
    SYS_mount,
    SYS_umount2,
    SYS_open_by_handle_at,
    SYS_quotactl,
    SYS_acct,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_personality,
    SYS_syslog,
    SYS_vhangup,
    SYS_clock_adjtime,
    SYS_shmget,
    SYS_shmctl,
    SYS_semget,
    SYS_semctl,
    SYS_msgget,
    SYS_msgctl,
    SYS_mq_open,
    SYS_mq_unlink,
    SYS_setuid,
    SYS_setgid,
    SYS_setreuid,
    SYS_setregid,
    SYS_setresuid,
    SYS_setresgid,
    SYS_setgroups,
    SYS_setfsuid,
    SYS_setfsgid,
    SYS_capset,
    SYS_setsid,
    SYS_setpgid,
#ifdef SYS_fsopen
    SYS_open_tree,
    SYS_move_mount,
    SYS_fsopen,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fspick,
#endif
#ifdef SYS_iopl
    SYS_iopl,
    SYS_ioperm,
#endif
    SYS_pivot_root,
    SYS_chroot,
    SYS_setns,
    SYS_unshare,
    SYS_bpf,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_fchmod,
    SYS_fchmodat,
    SYS_fchown,
    SYS_fchownat,
    SYS_setxattr,
    SYS_lsetxattr,
    SYS_fsetxattr,
    SYS_removexattr,
    SYS_lremovexattr,
    SYS_fremovexattr,
    SYS_utimensat,
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_adjtimex,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
#ifdef SYS_fork
    SYS_fork,
    SYS_vfork,
    SYS_chmod,
    SYS_chown,
    SYS_lchown,
    SYS_utime,
    SYS_utimes,
    SYS_futimesat,
#endif
#ifdef SYS_io_uring_setup
    SYS_io_uring_setup,
#endif
#ifdef SYS_pidfd_send_signal
    SYS_pidfd_send_signal,
#endif
#ifdef SYS_pidfd_getfd
    SYS_pidfd_getfd,
#endif
};

/* Unless it may use the network. */
static const int connecting_calls[] = {SYS_socket, SYS_socketpair, SYS_connect};

#ifdef OWN_ARCHITECTURE
enum { REFUSE = SECCOMP_RET_ERRNO | EPERM, MISSING = SECCOMP_RET_ERRNO | ENOSYS, OTHER_ABI = 0x40000000 };
enum {
  NUMBER_AT = offsetof(struct seccomp_data, nr),
  FIRST_AT = offsetof(struct seccomp_data, args[0]),
  SECOND_AT = offsetof(struct seccomp_data, args[1]),
  THIRD_AT = offsetof(struct seccomp_data, args[2])
};

struct filter {
  struct sock_filter program[2 * (LYNX_COUNT(refused_calls) + LYNX_COUNT(connecting_calls)) + 80];
  unsigned short n;
};

static void put(struct filter *f, struct sock_filter one) {
  lynx_assert(f->n < LYNX_COUNT(f->program));
  f->program[f->n++] = one;
}

static void load(struct filter *f, uint32_t what) {
  put(f, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, what));
}

static void answer(struct filter *f, uint32_t what) {
  put(f, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, what));
}

/* The next n if what was loaded is that, else what follows them. */
static void if_is(struct filter *f, uint32_t what, uint8_t n) {
  put(f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, what, 0, n));
}

static void answer_if(struct filter *f, uint32_t what, uint32_t how) {
  if_is(f, what, 1);
  answer(f, how);
}

static void answer_from(struct filter *f, uint32_t least, uint32_t how) {
  put(f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, least, 0, 1));
  answer(f, how);
}

/* What follows sees the number of a call, by this machine's own way of calling. */
static void begin(struct filter *f) {
  load(f, offsetof(struct seccomp_data, arch));
  put(f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCHITECTURE, 1, 0));
  answer(f, SECCOMP_RET_KILL_PROCESS);
  load(f, NUMBER_AT);
  answer_from(f, OTHER_ABI, SECCOMP_RET_KILL_PROCESS);
}

static void install(struct filter *f) {
  const struct sock_fprog program = {.len = f->n, .filter = f->program};
  (void)prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* Of a call, where one of its arguments is one of those: refused. */
static void refuse_where(struct filter *f, int call, uint32_t argument, const uint32_t *values, size_t n) {
  if_is(f, (uint32_t)call, (uint8_t)(2 + 2 * n));
  load(f, argument);
  for (size_t i = 0; i < n; i++) answer_if(f, values[i], REFUSE);
  answer(f, SECCOMP_RET_ALLOW);
}

/* The same, but where the argument is none of those. */
static void refuse_unless(struct filter *f, int call, uint32_t argument, const uint32_t *values, size_t n) {
  if_is(f, (uint32_t)call, (uint8_t)(2 + 2 * n));
  load(f, argument);
  for (size_t i = 0; i < n; i++) answer_if(f, values[i], SECCOMP_RET_ALLOW);
  answer(f, REFUSE);
}

/* From process_madvise on none is needed but these: the C library tries them, and does without. */
static void put_newer(struct filter *f) {
  static const uint32_t known[] = {441 /* epoll_pwait2 */, 444, 445, 446 /* landlock */, 449 /* futex_waitv */, 451 /* cachestat */};
  for (size_t i = 0; i < LYNX_COUNT(known); i++) answer_if(f, known[i], SECCOMP_RET_ALLOW);
  answer_from(f, 440, MISSING);
}
#endif

#ifdef OWN_ARCHITECTURE
/* For who has all that it needs open and mapped. */
static const int needed_calls[] = {
    SYS_exit,        SYS_exit_group, SYS_ppoll,  SYS_nanosleep, SYS_clock_nanosleep, SYS_clock_gettime,  SYS_gettimeofday,
    SYS_getsockopt,  SYS_close,      SYS_brk,    SYS_munmap,    SYS_mremap,          SYS_madvise,        SYS_futex,
    SYS_sched_yield, SYS_getpid,     SYS_gettid, SYS_getrandom, SYS_rt_sigreturn,    SYS_rt_sigprocmask, SYS_restart_syscall,
#ifdef SYS_poll
    SYS_poll,
#endif
};

static void keep_few_calls(int file) {
  static struct filter f;
  const uint32_t files[] = {(uint32_t)file}, maps[] = {PROT_NONE, PROT_READ, PROT_READ | PROT_WRITE}, own[] = {(uint32_t)getpid()};
  begin(&f);
  for (size_t i = 0; i < LYNX_COUNT(needed_calls); i++) answer_if(&f, (uint32_t)needed_calls[i], SECCOMP_RET_ALLOW);
  refuse_unless(&f, SYS_write, FIRST_AT, files, LYNX_COUNT(files));
  refuse_unless(&f, SYS_tgkill, FIRST_AT, own, LYNX_COUNT(own));
  refuse_unless(&f, SYS_mmap, THIRD_AT, maps, LYNX_COUNT(maps)); /* nothing that can be run */
  refuse_unless(&f, SYS_mprotect, THIRD_AT, maps, LYNX_COUNT(maps));
  answer(&f, REFUSE);
  install(&f);
}
#else
static void keep_few_calls(int file) {
  (void)file;
}
#endif

static void keep_calls(bool network) {
#ifdef OWN_ARCHITECTURE
  static struct filter f;
  const uint32_t own[] = {0, (uint32_t)getpid()}, death[] = {PR_SET_PDEATHSIG}, typing[] = {TIOCSTI, TIOCLINUX},
                 owners[] = {F_SETOWN, 15 /* F_SETOWN_EX */, 10 /* F_SETSIG */};
  begin(&f);
  answer_if(&f, SYS_clone3, MISSING); /* it hides its flags from the filter: the C library then takes clone */
  put_newer(&f);
  for (size_t i = 0; i < LYNX_COUNT(refused_calls); i++) answer_if(&f, (uint32_t)refused_calls[i], REFUSE);
  for (size_t i = 0; !network && i < LYNX_COUNT(connecting_calls); i++) answer_if(&f, (uint32_t)connecting_calls[i], REFUSE);
  if_is(&f, SYS_clone, 4); /* of which only threads are allowed */
  load(&f, FIRST_AT);
  put(&f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 1, 0));
  answer(&f, REFUSE);
  answer(&f, SECCOMP_RET_ALLOW);
  refuse_unless(&f, SYS_tgkill, FIRST_AT, own + 1, 1); /* a signal to itself is how a program aborts */
  refuse_unless(&f, SYS_prlimit64, FIRST_AT, own, LYNX_COUNT(own));
  refuse_where(&f, SYS_prctl, FIRST_AT, death, LYNX_COUNT(death));
  refuse_where(&f, SYS_fcntl, SECOND_AT, owners, LYNX_COUNT(owners)); /* whom a signal goes to when a file is ready */
  refuse_where(&f, SYS_ioctl, SECOND_AT, typing, LYNX_COUNT(typing));
  answer(&f, SECCOMP_RET_ALLOW);
  install(&f);
#else
  (void)network;
#endif
}

#if defined __SANITIZE_ADDRESS__
enum { SANITIZED = true };
#elif defined __has_feature
#if __has_feature(address_sanitizer)
enum { SANITIZED = true };
#else
enum { SANITIZED = false };
#endif
#else
enum { SANITIZED = false };
#endif

static void limit(int which, int64_t value) {
  struct rlimit now;
  if (value <= 0 || getrlimit(which, &now) != 0) return;
  if (now.rlim_max != RLIM_INFINITY && now.rlim_max < (rlim_t)value) value = (int64_t)now.rlim_max;
  now.rlim_cur = now.rlim_max = (rlim_t)value;
  (void)setrlimit(which, &now);
}

void cage_enter(const struct cage *cage) {
  const struct rlimit none = {0, 0};
  if (!SANITIZED) limit(RLIMIT_AS, cage->memory_bytes); /* a sanitizer reserves more than any limit */
  limit(RLIMIT_CPU, cage->processor_s);
  limit(RLIMIT_FSIZE, cage->file_bytes);
  limit(RLIMIT_NOFILE, cage->open_files);
  (void)setrlimit(RLIMIT_CORE, &none);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return; /* without it the kernel takes neither of these */
  keep_files(cage);
  keep_calls(cage->network);
  if (cage->alone_with > 0 && !SANITIZED) keep_few_calls(cage->alone_with); /* a sanitizer asks for more */
}

const char *cage_lacks(void) {
  bool calls = prctl(PR_GET_SECCOMP) >= 0;
#ifndef OWN_ARCHITECTURE
  calls = false;
#endif
  int files = landlock_version();
  if (files < 1)
    return calls ? "files can be changed (no Landlock)" : "files can be changed (no Landlock), programs and sockets opened (no seccomp)";
  if (!calls) return "programs and sockets can be opened (no seccomp)";
  return files < 3 ? "files can be cut short by name (Landlock of version 1 or 2)" : "";
}
