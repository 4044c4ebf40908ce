/* result/check_plan.h: the sessions that checks ask for, as measure runs them and result reads them.
 * caching   one request at a time: CHECK_PROMPTS prompts to warm up, then as many fresh ones, then the same ones again
 * seed      the contract's load with other prompts, and another seed in the requests */
#ifndef RESULT_CHECK_PLAN_H
#define RESULT_CHECK_PLAN_H

enum { CHECK_PROMPTS = 12 };

#endif
