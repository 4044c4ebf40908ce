#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "cli/command.h"
#include "cli/ledger_fetch.h"
#include "cli/ledger_file.h"
#include "cli/team_key.h"

enum { FLAG_KEY, FLAG_AUDIT };

static const struct option_spec options[] = {
    [FLAG_KEY] = OPTION("key", "FILE", "the team's private key (default: LYNXBENCH_KEY)"),
    [FLAG_AUDIT] = SWITCH("audit", "check every entry first, not only that the log continues what was seen")};

static int cosign(struct ledger_file *file, const struct signer *signer) {
  struct buffer note;
  struct checkpoint checkpoint, vouched;
  struct lynx_error error = {0}, none = {0};
  const struct policy_team *team = policy_team_named(ledger_policy(file->ledger), signer->name);
  uint64_t time_s = 0;
  struct note parsed = {{NULL, 0}, {NULL, 0}};
  buffer_init(&note, NOTE_MAX);
  if (!ledger_file_seen(file, &note)) { /* exactly what was held against the memory is signed, and only if it could be */
    buffer_release(&note);
    return EXIT_DOES_NOT_HOLD;
  }
  enum lynx_status status = note_parse((struct bytes){note.data, note.length}, &parsed, &error);
  if (status == LYNX_OK) status = checkpoint_parse(parsed.text, &checkpoint, &error);
  if (status == LYNX_OK && (team == NULL || !team->witness))
    status = lynx_fail(&error, LYNX_INPUT,
                       "%s is no witness of this ledger; an admin makes it one: lynxbench ledger policy LEDGER --team %s.pub --witness",
                       signer->name, signer->name);
  if (status == LYNX_OK)
    status = note_cosign(&note, signer->name, signer->key, (uint64_t)(clock_system.realtime_ns(clock_system.context) / 1000000000), &error);
  struct bytes cosigned = {note.data, note.length};
  struct buffer told;
  buffer_init(&told, NOTE_MAX);
  if (status == LYNX_OK)
    status = file->remote ? ledger_send(file->real, "cosign", cosigned, NULL, &told, &error)
                          : ledger_put_cosigned(file->ledger, cosigned, &error);
  buffer_release(&told);
  if (status == LYNX_OK) status = ledger_file_update(file, &error);
  buffer_clear(&note);
  if (status != LYNX_OK) {
    lynx_error_at(&error, file->address, 0, NULL);
    int code = report_error(&error);
    buffer_release(&note);
    return code;
  }
  say("%s: %s cosigned the tree of %" PRIu64 " entries\n", file->address, signer->name, checkpoint.size);
  if (ledger_vouched_checkpoint(file->ledger, &note, &vouched, &time_s, &none) == LYNX_OK)
    say("a quorum of %" PRId64 " vouches for the first %" PRIu64 " entries\n", ledger_policy(file->ledger)->quorum, vouched.size);
  else
    say("%s\n", ledger_policy(file->ledger)->quorum > 0 ? "its quorum is not reached yet: other witnesses' cosignatures are missing"
                                                        : "its policy asks for no quorum: lynxbench ledger policy LEDGER --quorum N");
  buffer_release(&note);
  return EXIT_HOLDS;
}

static int run(const struct arguments *arguments) {
  struct ledger_file file;
  struct signer signer;
  struct ledger_audit audit;
  struct lynx_error error = {0};
  if (!team_key_wanted(arguments->option[FLAG_KEY], "witness", &signer)) return EXIT_WRONG_INPUT;
  int code = EXIT_DOES_NOT_HOLD;
  if (!ledger_file_open(arguments->positional[0], LEDGER_KEEPS, &file))
    code = ledger_file_code(&file); /* 1: rolled back, forked, replaced, altered */
  else {
    if (arguments->option[FLAG_AUDIT] != NULL && ledger_audit(file.ledger, true, &audit, &error) != LYNX_OK) (void)report_error(&error);
    else code = cosign(&file, &signer);
    ledger_file_close(&file);
  }
  signing_key_release(signer.key);
  return code;
}

const struct command command_witness = {
    .name = "ledger witness",
    .summary = "cosign a ledger's checkpoint, if it continues the last one seen",
    .usage = "LEDGER",
    .least = 1,
    .most = 1,
    .options = options,
    .n_options = LYNX_COUNT(options),
    .details =
        "A witness remembers the last checkpoint that it saw, and signs a newer one only where that one follows from it: so whoever\n"
        "keeps the ledger cannot rewrite it, or show two histories, without a witness noticing (exit code 1). With the policy's\n"
        "quorum of witnesses a contract's signatures are shown to precede a run at a time that does not rest on the keeper's word.",
    .example =
        "rm -rf /tmp/w; mkdir -p /tmp/w; build/lynxbench ledger key ml --out /tmp/w; build/lynxbench ledger create /tmp/w/t.ledger --key "
        "/tmp/w/ml.key; "
        "build/lynxbench ledger policy /tmp/w/t.ledger --key /tmp/w/ml.key --team /tmp/w/ml.pub --admin --witness --quorum 1; "
        "build/lynxbench ledger witness "
        "/tmp/w/t.ledger --key /tmp/w/ml.key",
    .run = run};
