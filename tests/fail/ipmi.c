/* Synthetic, for LD_PRELOAD: a management controller behind whatever plain file stands in for /dev/ipmi0. It answers DCMI's power reading
 * with LYNX_IPMI watts; "none": with the completion code of an unknown command. */
#include <dlfcn.h>
#include <linux/ipmi.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

static int asked;

int ioctl(int fd, unsigned long request, ...) {
  va_list arguments;
  va_start(arguments, request);
  void *argument = va_arg(arguments, void *);
  va_end(arguments);
  const char *watts = getenv("LYNX_IPMI");
  if (watts != NULL && request == IPMICTL_SEND_COMMAND) {
    const struct ipmi_msg *message = &((const struct ipmi_req *)argument)->msg;
    asked = message->netfn == 0x2c && message->cmd == 2 && message->data_len == 4 && message->data[0] == 0xdc && message->data[1] == 1;
    return 0;
  }
  if (watts != NULL && request == IPMICTL_RECEIVE_MSG_TRUNC) {
    struct ipmi_msg *message = &((struct ipmi_recv *)argument)->msg;
    int unknown = !asked || strcmp(watts, "none") == 0, power = atoi(watts);
    unsigned char answer[19] = {unknown ? 0xc1 : 0, 0xdc, (unsigned char)(power & 0xff), (unsigned char)(power >> 8)};
    answer[18] = 0x40;
    memcpy(message->data, answer, sizeof answer);
    message->data_len = sizeof answer;
    return 0;
  }
  int (*real)(int, unsigned long, void *) = (int (*)(int, unsigned long, void *))dlsym(RTLD_NEXT, "ioctl");
  return real(fd, request, argument);
}
