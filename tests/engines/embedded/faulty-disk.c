/*
 * A disk that can be told to fail, put between a process and its files with LD_PRELOAD.
 *
 * FAULTY_DISK_DIRECTORY: only files below it are touched. FAULTY_DISK_CONTROL: a file with one
 * word: `ok`; `hold` keeps syncs waiting; `fail-sync` fails them with EIO; `full` fails writes with
 * ENOSPC, LevelDB's (which go through stdio) after half of the bytes, as a real disk would.
 * `<control>.held` appears when a sync is kept waiting.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Some headers make a macro of it. */
#undef fwrite_unlocked

static void read_mode(char *mode, size_t size) {
  const char *control = getenv("FAULTY_DISK_CONTROL");
  mode[0] = 0;
  if (control == NULL) return;
  int fd = open(control, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  ssize_t n = read(fd, mode, size - 1);
  close(fd);
  mode[n < 0 ? 0 : n] = 0;
}

static int is_mode(const char *wanted) {
  char mode[32];
  read_mode(mode, sizeof mode);
  return strcmp(mode, wanted) == 0;
}

static int is_ours(int fd) {
  const char *directory = getenv("FAULTY_DISK_DIRECTORY");
  char link[64], path[4096];
  if (directory == NULL || fd < 3) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t n = readlink(link, path, sizeof path - 1);
  if (n <= 0) return 0;
  path[n] = 0;
  return strncmp(path, directory, strlen(directory)) == 0;
}

static int sync_fails(int fd) {
  if (!is_ours(fd)) return 0;
  if (is_mode("hold")) {
    char held[4096];
    snprintf(held, sizeof held, "%s.held", getenv("FAULTY_DISK_CONTROL"));
    int report = open(held, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    if (report >= 0) close(report);
    while (is_mode("hold")) usleep(1000);
  }
  if (!is_mode("fail-sync")) return 0;
  errno = EIO;
  return 1;
}

int fdatasync(int fd) { return sync_fails(fd) ? -1 : (int)syscall(SYS_fdatasync, fd); }

int fsync(int fd) { return sync_fails(fd) ? -1 : (int)syscall(SYS_fsync, fd); }

size_t fwrite_unlocked(const void *data, size_t size, size_t count, FILE *file) {
  static size_t (*next)(const void *, size_t, size_t, FILE *);
  if (next == NULL) next = dlsym(RTLD_NEXT, "fwrite_unlocked");
  if (is_ours(fileno(file)) && is_mode("full")) {
    size_t written = next(data, 1, size * count / 2, file);
    errno = ENOSPC;
    return written / (size == 0 ? 1 : size);
  }
  return next(data, size, count, file);
}

static ssize_t write_or_fail(int fd, const void *data, size_t size, off_t at, int positioned) {
  if (is_ours(fd) && is_mode("full")) {
    errno = ENOSPC;
    return -1;
  }
  return positioned ? syscall(SYS_pwrite64, fd, data, size, at) : syscall(SYS_write, fd, data, size);
}

ssize_t write(int fd, const void *data, size_t size) { return write_or_fail(fd, data, size, 0, 0); }

ssize_t pwrite(int fd, const void *data, size_t size, off_t at) {
  return write_or_fail(fd, data, size, at, 1);
}

ssize_t pwrite64(int fd, const void *data, size_t size, off_t at) {
  return write_or_fail(fd, data, size, at, 1);
}
