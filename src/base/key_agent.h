/* base/key_agent.h: Ed25519 keys that an ssh-agent holds, so that no file of ours does.
 * Shapes   public key 32 bytes, signature 64 bytes, over the message itself (RFC 8032), as if a key of ours had made it
 * Errors   NOT_FOUND: SSH_AUTH_SOCK is not set, nothing answers there, or it has no such key; PROTOCOL: its answer is none; IO: it
 *          refuses, or takes longer than a person needs to agree
 * Source   draft-ietf-sshm-ssh-agent (SSH Agent Protocol), 3.5 and 3.6; RFC 8709 for the forms of key and signature */
#ifndef BASE_KEY_AGENT_H
#define BASE_KEY_AGENT_H

#include "base/buffer.h"
#include "base/status.h"

enum { AGENT_KEY_BYTES = 32, AGENT_SIGNATURE_BYTES = 64 }; /* Ed25519's */

/* The key of that comment. */
enum lynx_status key_agent_find(const char *comment, uint8_t ret[AGENT_KEY_BYTES], struct lynx_error *error) LYNX_MUST_CHECK;
/* Whether it is the signature of that message is for the caller to check (signing_key_sign does). */
enum lynx_status key_agent_sign(const uint8_t key[AGENT_KEY_BYTES], struct bytes message, uint8_t ret[AGENT_SIGNATURE_BYTES],
                                struct lynx_error *error) LYNX_MUST_CHECK;

#endif
