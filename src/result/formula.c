#include "result/formula.h"

const struct formula formulas[FORMULA_COUNT] = {
    [FORMULA_TTFT] =
        {"lynx.ttft.1", "time to first token", "ns",
         "first event that carries text - scheduled time (or first byte written, as the contract says); infinite for a failure"},
    [FORMULA_TTFAT] =
        {"lynx.ttfat.1", "time to first answer token", "ns",
         "first event whose text is neither reasoning nor a tool call - scheduled time (or first byte written); infinite for a "
         "failure, and for reasoning that no answer followed"},
    [FORMULA_TTFTC] =
        {"lynx.ttftc.1", "time to first tool call", "ns",
         "first event with a part of a tool call - scheduled time (or first byte written), of answers that hold one; infinite "
         "for a failure"},
    [FORMULA_TPOT] = {"lynx.tpot.1", "time per output token", "ns",
                      "(last token - first token) / (output tokens - 1), per request with at least 2 tokens; infinite for a failure"},
    [FORMULA_ITL] =
        {"lynx.itl.1", "inter-token latency", "ns",
         "gaps between consecutive events that carry text, pooled over requests that ended well; an event may hold several tokens"},
    [FORMULA_E2E] =
        {"lynx.e2e.1", "end-to-end latency", "ns",
         "end of the answer - scheduled time (or first byte written); infinite for a failure; at least its age for an unfinished request"},
    [FORMULA_OUTPUT_RATE] = {"lynx.output_rate.1", "output throughput", "tokens/s",
                             "tokens whose own time lies in the counted window, of requests that did not fail / length of the window"},
    [FORMULA_PHASE] =
        {"lynx.phase.1", "phase", "ns",
         "a part of a request's life as the executor reports it; share: its time / the time from first byte written to end, summed "
         "over the answers that tell of any phase"},
    [FORMULA_REQUEST_RATE] = {"lynx.request_rate.1", "request throughput", "requests/s",
                              "requests that ended well inside the counted window / its length"},
    [FORMULA_FAILURE_SHARE] = {"lynx.failure_share.1", "failures", "share",
                               "counted requests that failed, timed out or did not finish / counted requests"},
    [FORMULA_GOODPUT] =
        {"lynx.goodput.2", "goodput", "requests/s",
         "requests that ended well inside the counted window and met every per-request objective / its length: of those that "
         "request throughput counts, the ones that were good"},
    [FORMULA_BACKLOG_GROWTH] =
        {"lynx.backlog_growth.2", "backlog growth", "share",
         "(arrivals - completions in the window) / arrivals, or 1 - completions / expected arrivals where that is known "
         "more narrowly; its interval from 20 equal parts of each window"},
    [FORMULA_PER_USER] = {"lynx.per_user.1", "output rate of one user", "tokens/s", "1 / median time per output token"},
    [FORMULA_PER_ACCELERATOR] =
        {"lynx.per_accelerator.1", "output rate of one accelerator", "tokens/s",
         "output rate / accelerators: those that the process may use of the GPUs, else of the accelerators on the bus, else "
         "processor packages"},
    [FORMULA_IN_SYSTEM] = {"lynx.in_system.1", "requests in the system", "requests",
                           "time between scheduled and end, added up over the window / its length"},
    [FORMULA_EXACT_MATCH] = {"lynx.exact_match.1", "exact match", "share",
                             "sampled answers equal to their reference, byte for byte / sampled answers"},
    [FORMULA_AGREEMENT] =
        {"lynx.agreement.1", "token agreement", "share",
         "words of the reference, from its first, that the answer has too before the two part / words of the reference, mean over answers"},
    [FORMULA_SCORE] = {"lynx.score.1", "score", "share", "mean of what the contract's scorer gives each sampled answer"},
    [FORMULA_SEND_LAG] = {"lynx.send_lag.1", "send lag", "ns", "handed to the driver - scheduled time: how late the instrument itself was"},
    [FORMULA_READ_LAG] = {"lynx.read_lag.1", "read lag", "ns",
                          "read - the kernel's arrival stamp of the last segment of that read, the greatest per request; a lower bound for "
                          "earlier segments"},
    [FORMULA_BITS_PER_BYTE] = {"lynx.bits_per_byte.1", "bits per byte", "bits",
                               "-sum(log2 p) of held-out text under teacher forcing / its bytes"},
    [FORMULA_COST] = {"lynx.cost.1", "cost", "the contract's currency per million tokens",
                      "cost.price_per_hour / 3600 s / throughput x 10^6 (of requests where answers hold no tokens); its interval is the "
                      "throughput's, turned round; the price is the contract's word"},
    [FORMULA_ENERGY] = {"lynx.energy.1", "energy", "J per token",
                        "cost.power_watts / throughput (of requests where answers hold no tokens); the power is the contract's word"},
    [FORMULA_MACHINE_SPEED] = {"lynx.machine_speed.1", "machine's speed", "bytes/s, operations/s or ns",
                               "memory bandwidth (STREAM triad), single-precision operations, waking a thread, without the executor: the "
                               "mean of before and after the run"},
    [FORMULA_ACCEPTANCE_LENGTH] =
        {"lynx.acceptance_length.1", "acceptance length", "tokens per step",
         "1 + drafted tokens that were kept / steps with a draft, by the server's counters in the counted windows; or the mean of "
         "what the server itself gives"},
    [FORMULA_ACCEPTANCE_RATE] = {"lynx.acceptance_rate.1", "acceptance rate", "share",
                                 "drafted tokens that were kept / drafted tokens, by the server's counters in the counted windows; or "
                                 "the mean of what the server itself gives"},
    [FORMULA_CACHE_HIT_RATE] = {"lynx.cache_hit_rate.1", "prefix cache hit rate", "share",
                                "tokens found in the prefix cache / tokens looked up, by the server's counters in the counted windows; "
                                "or the mean of what the server itself gives"},
    [FORMULA_PREEMPTIONS] = {"lynx.preemptions.1", "preempted", "requests",
                             "requests whose work was thrown away for want of cache, by the server's counter in the counted windows"},
    [FORMULA_SERVER_TTFT] = {"lynx.server_ttft.1", "first token", "ns",
                             "seconds / requests that the server's own histogram of the time to the first token gained in the counted "
                             "windows: from its frontend's clock, of whoever asked"},
    [FORMULA_SERVER_E2E] = {"lynx.server_e2e.1", "whole answer", "ns", "the same of the server's histogram of whole requests"},
    [FORMULA_SERVER_ITL] = {"lynx.server_itl.1", "between tokens", "ns",
                            "seconds / gaps that the server's own histogram of the time between tokens gained in the counted windows"},
};
