#include "report/html_page.h"

#include <string.h>

#include "base/base64.h"
#include "base/digest.h"
#include "report/svg.h"

void html_text(struct buffer *out, const char *before, const char *text, const char *after) {
  (void)buffer_text(out, before);
  (void)html_escape(out, text);
  (void)buffer_text(out, after);
}

void html_page_head(struct buffer *out, const char *title) {
  uint8_t digest[DIGEST_BYTES];
  digest_of(report_style, strlen(report_style), digest);
  (void)buffer_text(out, "<!doctype html><html lang='en'><head><meta charset='utf-8'><meta http-equiv='Content-Security-Policy' "
                         "content=\"default-src 'none'; style-src 'sha256-");
  (void)base64_encode(out, digest, sizeof digest);
  (void)buffer_text(out, "'; base-uri 'none'; form-action 'none'\">");
  (void)buffer_text(out,
                    "<meta name='viewport' content='width=device-width,initial-scale=1'><meta name='color-scheme' content='light dark'>");
  html_text(out, "<title>", title, " · lynxbench</title><style>");
  (void)buffer_text(out, report_style);
  (void)buffer_text(out, "</style></head><body><main>");
}

void html_page_begin(struct buffer *out, const char *title) {
  html_page_head(out, title);
  html_text(out, "<h1>", title, "</h1>");
}

void html_key(struct buffer *out, int color, const char *text) {
  (void)buffer_printf(out, "<span class='key'><i class='k%d'></i>", color % 6);
  (void)html_escape(out, text);
  (void)buffer_text(out, "</span>");
}
