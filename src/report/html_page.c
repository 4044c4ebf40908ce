#include "report/html_page.h"

#include "report/svg.h"

static const char page_style[] =
    ":root{--bg:#fff;--fg:#1b1f24;--dim:#5b6570;--line:#d7dce1;--grid:#e9ecef;--panel:#f6f8fa;--win:#0b6bcb14;--bad:#b3261e;--good:#1b7f3b;"
    "--c0:#2b6cb0;--c1:#c05621;--c2:#2f855a;--c3:#805ad5;--c4:#b83280;--c5:#718096}"
    "@media(prefers-color-scheme:dark){:root{--bg:#14171a;--fg:#e6e9ec;--dim:#9aa5b1;--line:#39414a;--grid:#262c33;--panel:#1c2126;--win:#"
    "63b3ed1f;--bad:#ff8a80;--good:#7ee29b;--c0:#63b3ed;--c1:#f6ad55;--c2:#68d391;--c3:#b794f4;--c4:#f687b3;--c5:#a0aec0}}"
    "*{box-sizing:border-box}body{margin:0 auto;max-width:1080px;padding:28px 24px 60px;background:var(--bg);color:var(--fg);font:15px/1.5 "
    "system-ui,-apple-system,'Segoe UI',Roboto,sans-serif}"
    "h1{font-size:26px;margin:0 0 4px}h2{font-size:18px;margin:38px 0 10px;border-bottom:1px solid "
    "var(--line);padding-bottom:4px}h3{font-size:15px;margin:22px 0 6px}"
    "p{margin:6px 0}.dim{color:var(--dim)}.bad{color:var(--bad)}.good{color:var(--good)}code,.mono{font:13px/1.4 "
    "ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}"
    ".claim{background:var(--panel);border-left:4px solid var(--c0);padding:12px 16px;margin:12px 0;border-radius:0 6px 6px "
    "0}.claim.no{border-color:var(--bad)}.claim ul{margin:6px 0 0;padding-left:20px}"
    ".cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(172px,1fr));gap:12px;margin:14px "
    "0}.card{background:var(--panel);border:1px solid var(--line);border-radius:8px;padding:12px 14px}.card "
    "b{display:block;font-size:22px;font-weight:600}.card span{color:var(--dim);font-size:13px}"
    "table{border-collapse:collapse;width:100%;font-size:13.5px;margin:8px 0}th,td{text-align:left;padding:5px 10px 5px "
    "0;border-bottom:1px solid "
    "var(--line);vertical-align:top}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}th{color:var(--dim);"
    "font-weight:500}td.v{overflow-wrap:anywhere}"
    "details{margin:8px 0}summary{cursor:pointer;padding:4px 0}figure{margin:14px "
    "0;overflow-x:auto}svg{width:100%;height:auto;min-width:560px;background:var(--panel);border:1px solid var(--line);border-radius:8px}"
    "svg text{fill:var(--fg);font:11px system-ui,sans-serif}svg .tick{fill:var(--dim)}svg .label{fill:var(--dim);font-size:12px}svg "
    ".title{font-size:13px;font-weight:600}.grid{stroke:var(--grid);stroke-width:1}.frame{fill:none;stroke:var(--line)}.window{fill:var(--"
    "win)}.level{stroke:var(--bad);stroke-dasharray:5 4}"
    ".l{fill:none;stroke-width:2}.thin{stroke-width:1;opacity:.45}.p{opacity:.55}circle.c0{fill:var(--c0)}circle.c1{fill:var(--c1)}circle."
    "c2{fill:var(--c2)}circle.c3{fill:var(--c3)}circle.c4{fill:var(--c4)}circle.c5{fill:var(--c5)}"
    "path.c0{stroke:var(--c0)}path.c1{stroke:var(--c1)}path.c2{stroke:var(--c2)}path.c3{stroke:var(--c3)}path.c4{stroke:var(--c4)}path.c5{"
    "stroke:var(--c5)}path.bad{stroke:var(--bad);stroke-width:1.5}"
    ".key{display:inline-flex;align-items:center;gap:6px;margin-right:16px;color:var(--dim);font-size:13px}.key "
    "i{width:12px;height:12px;border-radius:3px;display:inline-block}"
    ".k0{background:var(--c0)}.k1{background:var(--c1)}.k2{background:var(--c2)}.k3{background:var(--c3)}.k4{background:var(--c4)}.k5{"
    "background:var(--c5)}"
    "@media "
    "print{body{max-width:none;padding:0}details::details-content{content-visibility:visible;display:block}h2{break-after:avoid}figure,"
    "table,.card,.claim{"
    "break-inside:avoid}}";

void html_text(struct buffer *out, const char *before, const char *text, const char *after) {
  (void)buffer_text(out, before);
  (void)html_escape(out, text);
  (void)buffer_text(out, after);
}

void html_page_begin(struct buffer *out, const char *title) {
  (void)buffer_text(out, "<!doctype html><html lang='en'><head><meta charset='utf-8'><meta http-equiv='Content-Security-Policy' "
                         "content=\"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">"
                         "<meta name='viewport' "
                         "content='width=device-width,initial-scale=1'><meta name='color-scheme' content='light dark'>");
  html_text(out, "<title>", title, " · lynxbench</title><style>");
  (void)buffer_text(out, page_style);
  html_text(out, "</style></head><body><h1>", title, "</h1>");
}

void html_key(struct buffer *out, int color, const char *text) {
  (void)buffer_printf(out, "<span class='key'><i class='k%d'></i>", color % 6);
  (void)html_escape(out, text);
  (void)buffer_text(out, "</span>");
}
