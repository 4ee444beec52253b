// SPDX-License-Identifier: MIT
// What the command and the libraries inside it take from glibc that came after 2.17, for a command
// that is linked with the stand-in for libc (older.mk). Each as the manual page says, as far as
// they use it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// 2.34: from then on libc runs the program's constructors itself, and a program that is linked with
// this version brings no function for it. An older libc must get one.
extern void (*__preinit_array_start[])(int, char**, char**);
extern void (*__preinit_array_end[])(int, char**, char**);
extern void (*__init_array_start[])(int, char**, char**);
extern void (*__init_array_end[])(int, char**, char**);

static void construct(int argc, char** argv, char** environment) {
  for (__typeof__(&*__preinit_array_start) f = __preinit_array_start; f < __preinit_array_end;
       ++f) {
    (*f)(argc, argv, environment);
  }
  for (__typeof__(&*__init_array_start) f = __init_array_start; f < __init_array_end; ++f) {
    (*f)(argc, argv, environment);
  }
}

typedef int Main(int, char**, char**);
typedef void Construct(int, char**, char**);
int __real___libc_start_main(Main*, int, char**, Construct*, void (*)(void), void (*)(void), void*);
int __wrap___libc_start_main(Main* main, int argc, char** argv, Construct* none, void (*end)(void),
                             void (*end_of_loader)(void), void* stack) {
  (void)none;
  return __real___libc_start_main(main, argc, argv, construct, end, end_of_loader, stack);
}

// 2.25, 2.36
int getentropy(void* to, size_t bytes) {
  if (syscall(SYS_getrandom, to, bytes, 0) == (long)bytes) return 0;
  const int file = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
  const ssize_t got = file < 0 ? -1 : read(file, to, bytes);
  if (file >= 0) close(file);
  if (got == (ssize_t)bytes) return 0;
  errno = EIO;
  return -1;
}
void arc4random_buf(void* to, size_t bytes) {
  for (size_t done = 0; done < bytes; done += 256) {
    if (getentropy((char*)to + done, bytes - done < 256 ? bytes - done : 256) != 0) _exit(127);
  }
}
uint32_t arc4random(void) {
  uint32_t number;
  arc4random_buf(&number, sizeof number);
  return number;
}

// 2.27
int memfd_create(const char* name, unsigned flags) {
  return (int)syscall(SYS_memfd_create, name, flags);
}

// 2.32
char __libc_single_threaded = 0;
const char* sigabbrev_np(int signal) {
  static const char* const kNames[] = {
      [SIGHUP] = "HUP",   [SIGINT] = "INT",       [SIGQUIT] = "QUIT", [SIGILL] = "ILL",
      [SIGTRAP] = "TRAP", [SIGABRT] = "ABRT",     [SIGBUS] = "BUS",   [SIGFPE] = "FPE",
      [SIGKILL] = "KILL", [SIGUSR1] = "USR1",     [SIGSEGV] = "SEGV", [SIGUSR2] = "USR2",
      [SIGPIPE] = "PIPE", [SIGALRM] = "ALRM",     [SIGTERM] = "TERM", [SIGSTKFLT] = "STKFLT",
      [SIGCHLD] = "CHLD", [SIGCONT] = "CONT",     [SIGSTOP] = "STOP", [SIGTSTP] = "TSTP",
      [SIGTTIN] = "TTIN", [SIGTTOU] = "TTOU",     [SIGURG] = "URG",   [SIGXCPU] = "XCPU",
      [SIGXFSZ] = "XFSZ", [SIGVTALRM] = "VTALRM", [SIGPROF] = "PROF", [SIGWINCH] = "WINCH",
      [SIGPOLL] = "POLL", [SIGPWR] = "PWR",       [SIGSYS] = "SYS"};
  const unsigned i = (unsigned)signal;
  return i < sizeof kNames / sizeof *kNames ? kNames[i] : NULL;
}

// 2.33: functions; before, macros for others.
int stat(const char* path, struct stat* status) {
  return (int)syscall(SYS_newfstatat, AT_FDCWD, path, status, 0);
}
int lstat(const char* path, struct stat* status) {
  return (int)syscall(SYS_newfstatat, AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
}
int fstat(int file, struct stat* status) { return (int)syscall(SYS_fstat, file, status); }
int fstat64(int file, struct stat64* status) { return (int)syscall(SYS_fstat, file, status); }

// 2.35: where an address's unwind table is.
struct Search {
  uintptr_t address;
  struct dl_find_object* found;
};
static int look(struct dl_phdr_info* object, size_t bytes, void* search) {
  const struct Search* const s = search;
  const ElfW(Phdr)* table = NULL;
  int is_here = 0;
  (void)bytes;
  for (const ElfW(Phdr)* p = object->dlpi_phdr; p < object->dlpi_phdr + object->dlpi_phnum; ++p) {
    is_here |= p->p_type == PT_LOAD && s->address - object->dlpi_addr - p->p_vaddr < p->p_memsz;
    if (p->p_type == PT_GNU_EH_FRAME) table = p;
  }
  if (!is_here || table == NULL) return is_here ? -1 : 0;
  s->found->dlfo_eh_frame = (void*)(object->dlpi_addr + table->p_vaddr);
  return 1;
}
int _dl_find_object(void* address, struct dl_find_object* found) {
  struct Search search = {(uintptr_t)address, found};
  return dl_iterate_phdr(look, &search) == 1 ? 0 : -1;
}
