#include "telemetry/metrics.h"

#include "tests/check.h"

static struct bytes page(const char *text) {
  return bytes_of(text);
}

int main(void) {
  static const char vllm[] =
      "# HELP vllm:num_requests_running Running.\n# TYPE vllm:num_requests_running gauge\n"
      "vllm:num_requests_running{engine=\"0\",model_name=\"a b\"} 3.0\nvllm:num_requests_running{engine=\"1\",model_name=\"x\\\"}\"} 4\n"
      "vllm:num_requests_waiting_by_reason{reason=\"capacity\"} 9\n"
      "vllm:request_success_total{finished_reason=\"stop\"} 10 1700000000\r\nvllm:request_success_total{finished_reason=\"length\"} 5\n"
      "vllm:prompt_tokens_total NaN\nbroken{\nvllm:generation_tokens_total\n"
      "vllm:request_prompt_tokens_bucket{le=\"1.0\",e=\"0\"} 1\nvllm:request_prompt_tokens_bucket{le=\"+Inf\",e=\"0\"} 6\n"
      "vllm:request_prompt_tokens_bucket{le=\"10.0\",e=\"0\"} 4\nvllm:request_prompt_tokens_bucket{e=\"1\",le=\"10.0\"} 2\n"
      "vllm:request_prompt_tokens_bucket{e=\"1\",le=\"+Inf\"} 2\nvllm:request_prompt_tokens_sum 99";
  CHECK_NEAR(metrics_value(page(vllm), METRICS_RUNNING), 7, 0); /* summed over engines */
  CHECK_NEAR(metrics_value(page(vllm), METRICS_FINISHED), 15, 0);
  CHECK(isnan(metrics_value(page(vllm), METRICS_WAITING)));       /* absent is not 0, and a longer name is another */
  CHECK(isnan(metrics_value(page(vllm), METRICS_PROMPT_TOKENS))); /* NaN is no value */
  CHECK(isnan(metrics_value(page(vllm), METRICS_OUTPUT_TOKENS)));
  const char *engines = "vllm:kv_cache_usage_perc{engine=\"0\"} 0.5\nvllm:kv_cache_usage_perc{engine=\"1\"} 0.7\n";
  CHECK_NEAR(metrics_value(page(engines), METRICS_CACHE_USE), 0.6, 1e-12); /* a share: the mean */
  CHECK_NEAR(metrics_value(page("sglang:num_running_reqs 2\n"), METRICS_RUNNING), 2, 0);
  CHECK_NEAR(metrics_value(page("llamacpp:requests_deferred 1\n"), METRICS_WAITING), 1, 0);
  CHECK(isnan(metrics_value(page(""), METRICS_RUNNING)));
  /* SGLang counts what it schedules by priority twice: whole, and by each. */
  const char *priorities = "sglang:num_running_reqs{priority=\"\"} 5\nsglang:num_running_reqs{priority=\"1\"} 2\n"
                           "sglang:num_running_reqs{priority=\"2\"} 3\nsglang:num_queue_reqs{priority=\"1\"} 4\n";
  CHECK_NEAR(metrics_value(page(priorities), METRICS_RUNNING), 5, 0);
  CHECK_NEAR(metrics_value(page(priorities), METRICS_WAITING), 4, 0); /* there is no whole: what there is */
  /* Triton tells TensorRT-LLM's figures apart by a label. */
  const char *triton = "nv_trt_llm_request_metrics{model=\"m\",request_type=\"waiting\"} 1\n"
                       "nv_trt_llm_request_metrics{model=\"m\",request_type=\"max\"} 512\n"
                       "nv_trt_llm_request_metrics{model=\"m\",request_type=\"active\"} 7\n"
                       "nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type=\"fraction\",model=\"m\"} 0.4875\n"
                       "nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type=\"max\",model=\"m\"} 6239\n";
  CHECK_NEAR(metrics_value(page(triton), METRICS_RUNNING), 7, 0);
  CHECK_NEAR(metrics_value(page(triton), METRICS_WAITING), 1, 0);
  CHECK_NEAR(metrics_value(page(triton), METRICS_CACHE_USE), 0.4875, 1e-12);
  CHECK_NEAR(metrics_value(page("trtllm_prompt_cached_tokens_total{model_name=\"m\"} 80\n"), METRICS_CACHE_HITS), 80, 0);
  const char *sources = "sglang:cached_tokens_total{cache_source=\"device\"} 60\nsglang:cached_tokens_total{cache_source=\"host\"} 20\n"
                        "sglang:cached_tokens_total{cache_source=\"total\"} 80\n";
  CHECK_NEAR(metrics_value(page(sources), METRICS_CACHE_HITS), 80, 0);
  double sum, n;
  CHECK(metrics_phase_total(page("trtllm_request_prefill_time_seconds_sum 3\ntrtllm_request_prefill_time_seconds_count 6\n"),
                            METRICS_PREFILL, &sum, &n));
  CHECK_NEAR(sum / n, 0.5, 1e-12);
  struct metrics_histogram h;
  CHECK(metrics_histogram(page(vllm), "vllm:request_prompt_tokens", &h));
  CHECK_INT(h.n, 3);
  CHECK_NEAR(h.bound[1], 10, 0);
  CHECK(isinf(h.bound[2]));
  CHECK_NEAR(h.count[0], 1, 0); /* 1; then 4 + 2 less 1; then 6 + 2 less 6 */
  CHECK_NEAR(h.count[1], 5, 0);
  CHECK_NEAR(h.count[2], 2, 0);
  CHECK(!metrics_histogram(page(vllm), "vllm:request", &h));
  return check_end();
}
