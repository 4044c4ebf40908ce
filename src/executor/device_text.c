#include "executor/device_text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/number.h"
#include "base/shown.h"
#include "executor/device_fact.h"
#include "executor/nvidia_smi.h"

enum { LINE_BYTES = 1000, CELLS_MAX = 8, WORDS_MAX = 24, DEVICES_MAX = 128, DEPTH_MAX = 8, PREFIX_MAX = 60, LINES_MAX = 200000 };

/* --- lines, without what stands before each of them --- */

struct device_lines {
  const char *at, *end;
  char prefix[PREFIX_MAX + 1];
  size_t n_read;
};

struct device_reading;

struct device_tool {
  const char *name, *mark; /* mark: in its first line, after the prefix that each line has */
  const char *family;      /* of its keys */
  void (*read)(struct device_reading *r);
  const char *behind; /* that the next line must hold, too; NULL: none */
};

struct device_reading {
  const struct device_tool *tool;
  struct fact_list *list;
  struct device_lines lines;
  int n_devices;
  int index; /* of the newest, as the tool numbers it */
};

/* Tabs and hard blanks are blanks. */
static bool next_line(struct device_lines *lines, char ret[LINE_BYTES]) {
  char blanks[LINE_BYTES];
  if (lines->at >= lines->end || lines->n_read++ == LINES_MAX) return false;
  const char *newline = memchr(lines->at, '\n', (size_t)(lines->end - lines->at));
  size_t n = newline != NULL ? (size_t)(newline - lines->at) : (size_t)(lines->end - lines->at), used = 0;
  for (size_t i = 0; i < n && used < sizeof blanks - 1; i++) {
    bool hard = i + 1 < n && memcmp(lines->at + i, "\xc2\xa0", 2) == 0;
    blanks[used++] = hard || lines->at[i] == '\t' ? ' ' : lines->at[i];
    i += hard;
  }
  while (used > 0 && (blanks[used - 1] == '\r' || blanks[used - 1] == ' ')) used--;
  lines->at += n + 1;
  text_sanitise(ret, LINE_BYTES, blanks, used);
  size_t prefix = strlen(lines->prefix);
  if (prefix > 0 && strncmp(ret, lines->prefix, prefix) == 0) memmove(ret, ret + prefix, strlen(ret) - prefix + 1);
  return true;
}

static bool is_rule(const char *line) {
  return line[0] != 0 && line[strspn(line, "+-=| ")] == 0;
}

/* --- words and cells --- */

static size_t words_of(char *text, char *ret[WORDS_MAX]) {
  size_t n = 0;
  char *save = NULL;
  for (char *word = strtok_r(text, " ", &save); word != NULL && n < WORDS_MAX; word = strtok_r(NULL, " ", &save)) ret[n++] = word;
  return n;
}

static char *trimmed(char *text) {
  while (*text == ' ') text++;
  size_t n = strlen(text);
  while (n > 0 && text[n - 1] == ' ') text[--n] = 0;
  return text;
}

/* What stands between bars; 0: no row of a table. */
static size_t cells_of(char *line, char *ret[CELLS_MAX]) {
  size_t n = 0;
  char *at = trimmed(line);
  if (is_rule(at) || *at != '|') return 0;
  for (at++; n < CELLS_MAX;) {
    char *bar = strchr(at, '|');
    if (bar == NULL) break;
    *bar = 0;
    ret[n++] = trimmed(at);
    at = bar + 1;
  }
  return n;
}

static bool is_number(const char *word) {
  return word[0] != 0 && word[strspn(word, "0123456789")] == 0;
}

/* Blanks around each slash: "26838/ 32768". */
static const char *apart(const char *cell, char ret[LINE_BYTES]) {
  size_t n = 0;
  for (const char *p = cell; *p != 0 && n + 4 < LINE_BYTES; p++) {
    if (*p == '/') ret[n++] = ' ';
    ret[n++] = *p;
    if (*p == '/') ret[n++] = ' ';
  }
  ret[n] = 0;
  return ret;
}

/* --- facts --- */

static void put_as(struct device_reading *r, enum layer layer, enum fact_kind kind, const char *key, enum device_form form,
                   const char *value) {
  const char *unit = form == DEVICE_MEBIBYTES ? "bytes" : form == DEVICE_MILLIWATTS ? "mW" : "";
  device_fact_add(r->list, &(struct device_field){key, unit, form, layer, kind}, value, r->tool->name);
}

static void put_host(struct device_reading *r, const char *key, const char *value) {
  put_as(r, LAYER_SYSTEM, FACT_IDENTITY, key, DEVICE_TEXT, value);
}

/* Another one begins. number: as the tool writes it; NULL: it numbers none. */
static void begin_device(struct device_reading *r, const char *number) {
  int64_t index = -1;
  r->n_devices++;
  if (number != NULL) (void)number_int64(number, strlen(number), &index);
  r->index = index >= 0 && index < DEVICES_MAX ? (int)index : r->n_devices - 1;
}

/* Of the newest device. */
static void put(struct device_reading *r, enum fact_kind kind, const char *name, enum device_form form, const char *value) {
  char key[80];
  if (r->n_devices < 1 || r->n_devices > DEVICES_MAX) return;
  (void)snprintf(key, sizeof key, "%s.%d.%s", r->tool->family, r->index, name);
  put_as(r, LAYER_ACCELERATOR, kind, key, form, value);
}

/* A name that was cut off on its right or its left names several products. */
static void put_name(struct device_reading *r, const char *name) {
  if (strstr(name, "...") == NULL && name[0] != 0) put(r, FACT_IDENTITY, "name", DEVICE_TEXT, name);
}

/* The word behind a label of a headline: "| NVIDIA-SMI 610.43.02   KMD Version: 610.43.02  |". False: it is not there. */
static bool word_behind(const char *line, const char *label, char ret[80]) {
  const char *at = strcasestr(line, label);
  if (at == NULL) return false;
  at += strlen(label);
  at += strspn(at, ": ");
  size_t n = strcspn(at, " |");
  (void)snprintf(ret, 80, "%.*s", (int)n, at);
  return n > 0;
}

/* --- nvidia-smi's and hl-smi's table, which are alike --- */

static void take_first_row(struct device_reading *r, char *cells[3]) {
  char *words[WORDS_MAX], name[LINE_BYTES] = "";
  size_t n = words_of(cells[0], words);
  begin_device(r, words[0]);
  for (size_t i = 1; i + 1 < n || (i < n && n == 2); i++) {
    (void)strncat(name, name[0] != 0 ? " " : "", sizeof name - strlen(name) - 1);
    (void)strncat(name, words[i], sizeof name - strlen(name) - 1);
  }
  put_name(r, name);
  if (n > 2 && (strcasecmp(words[n - 1], "On") == 0 || strcasecmp(words[n - 1], "Off") == 0))
    put(r, FACT_IDENTITY, "persistence-mode", DEVICE_SWITCH, words[n - 1]);
  cells[1][strcspn(cells[1], " ")] = 0;
  put(r, FACT_CONTEXT, "bus", DEVICE_TEXT, cells[1]);
  if (cells[2][0] != 0) put(r, FACT_IDENTITY, "ecc", DEVICE_SWITCH, is_number(cells[2]) ? "On" : cells[2]); /* a count: it is on */
}

static void take_second_row(struct device_reading *r, char *cells[3]) {
  const char *cap = strrchr(cells[0], '/'), *total = strrchr(cells[1], '/'), *mode = strchr(cells[2], '%');
  char used[LINE_BYTES];
  if (cap != NULL) put(r, FACT_IDENTITY, "power-limit", DEVICE_MILLIWATTS, cap + 1 + strspn(cap + 1, " "));
  if (total == NULL) return;
  (void)snprintf(used, sizeof used, "%.*s", (int)(total - cells[1]), cells[1]);
  put(r, FACT_IDENTITY, "memory", DEVICE_MEBIBYTES, total + 1 + strspn(total + 1, " "));
  put(r, FACT_STATE, "memory-used", DEVICE_MEBIBYTES, trimmed(used));
  if (mode != NULL && strcmp(r->tool->family, "gpu") == 0)
    put(r, FACT_IDENTITY, "compute-mode", DEVICE_COMPUTE_MODE, mode + 1 + strspn(mode + 1, " "));
}

static void take_box_headline(struct device_reading *r, const char *line) {
  char word[80];
  bool nvidia = strcmp(r->tool->family, "gpu") == 0;
  if (nvidia && (word_behind(line, "KMD Version", word) || word_behind(line, "Driver Version", word)))
    nvidia_smi_take(r->list, -1, "Driver Version", word);
  if (nvidia && (word_behind(line, "CUDA UMD Version", word) || word_behind(line, "CUDA Version", word)))
    nvidia_smi_take(r->list, -1, "CUDA Version", word);
  if (!nvidia && strstr(line, "Nic Driver") == NULL && word_behind(line, "Driver Version", word)) put_host(r, "driver.habanalabs", word);
  if (!nvidia && word_behind(line, "HL-SMI Version", word)) put_host(r, "imported.hl-smi", word);
}

/* "|  0    1   0   0  |      37MiB / 40320MiB            | 60      0 |  4   0    4    0    4 |": a slice is what serves. */
static void take_instance(struct device_reading *r, char *cells[4]) {
  char *words[WORDS_MAX], key[80];
  const char *total = strrchr(cells[1], '/');
  if (words_of(cells[0], words) != 4 || total == NULL) return;
  for (size_t i = 0; i < 4; i++)
    if (!is_number(words[i]) || strlen(words[i]) > 3) return;
  (void)snprintf(key, sizeof key, "%s.%s.mig.%s.%s.memory", r->tool->family, words[0], words[1], words[2]);
  put_as(r, LAYER_ACCELERATOR, FACT_IDENTITY, key, DEVICE_MEBIBYTES, total + 1 + strspn(total + 1, " "));
}

static void read_box(struct device_reading *r) {
  char line[LINE_BYTES], copy[LINE_BYTES], *cells[CELLS_MAX], *words[WORDS_MAX];
  while (next_line(&r->lines, line)) {
    if (strstr(line, "Processes") != NULL || (strstr(line, r->tool->mark) != NULL && r->n_devices > 0)) return;
    if (r->n_devices == 0) take_box_headline(r, line);
    size_t n_cells = cells_of(line, cells);
    if (n_cells == 4) take_instance(r, cells);
    if (n_cells != 3) continue;
    (void)snprintf(copy, sizeof copy, "%s", cells[0]);
    size_t n = words_of(copy, words);
    if (n > 1 && is_number(words[0]) && strchr(cells[1], ':') != NULL) take_first_row(r, cells);
    else if (r->n_devices > 0 && strcasestr(cells[1], "MiB") != NULL) take_second_row(r, cells);
    else if (r->n_devices > 0 && n == 0 && cells[1][0] == 0 && cells[2][0] != 0) put(r, FACT_IDENTITY, "mig", DEVICE_SWITCH, cells[2]);
  }
}

/* --- amd-smi's table --- */

static void take_amd_headline(struct device_reading *r, const char *line) {
  char word[80];
  /* "Linuxver" is what is left of a kernel's banner. */
  if (word_behind(line, "amdgpu version", word) && isdigit((unsigned char)word[0])) put_host(r, "driver.amdgpu", word);
  if (word_behind(line, "ROCm version", word)) put_as(r, LAYER_RUNTIME, FACT_IDENTITY, "imported.rocm", DEVICE_TEXT, word);
}

/* "0000:c5:00.0    AMD Radeon Graphics | N/A        N/A   0             N/A/0 W" */
static void take_amd_first(struct device_reading *r, char *cells[2]) {
  size_t bus = strcspn(cells[0], " ");
  char *limit = strrchr(cells[1], '/');
  begin_device(r, NULL);
  put_name(r, trimmed(cells[0] + bus));
  cells[0][bus] = 0;
  put(r, FACT_CONTEXT, "bus", DEVICE_TEXT, cells[0]);
  if (limit != NULL && limit[1] != 'A') put(r, FACT_IDENTITY, "power-limit", DEVICE_MILLIWATTS, limit + 1);
}

static void take_amd_second(struct device_reading *r, char *cells[2]) {
  char *words[WORDS_MAX], *total = strrchr(cells[1], '/');
  size_t n = words_of(cells[0], words);
  char *slash = n >= 4 ? strchr(words[3], '/') : NULL;
  if (slash != NULL && strcmp(words[3], "N/A") != 0) {
    *slash = 0;
    put(r, FACT_IDENTITY, "compute-partition", DEVICE_TEXT, words[3]);
    put(r, FACT_IDENTITY, "memory-partition", DEVICE_TEXT, slash + 1);
  }
  if (total != NULL) put(r, FACT_IDENTITY, "memory", DEVICE_MEBIBYTES, total + 1);
}

static void read_amd_table(struct device_reading *r) {
  char line[LINE_BYTES], *cells[CELLS_MAX];
  bool second = false;
  while (next_line(&r->lines, line)) {
    if (strstr(line, "Processes") != NULL) return;
    if (r->n_devices == 0) take_amd_headline(r, line);
    if (cells_of(line, cells) != 2 || strncmp(cells[0], "BDF", 3) == 0) continue;
    size_t colon = strcspn(cells[0], ": ");
    if (colon > 0 && cells[0][colon] == ':') take_amd_first(r, cells), second = true;
    else if (second && isdigit((unsigned char)cells[0][0])) take_amd_second(r, cells), second = false;
  }
}

/* --- npu-smi info --- */

/* Of "994 / 21534    0 / 32768" the last that is not 0: of cards with both kinds of memory, the faster. */
static void take_npu_memory(struct device_reading *r, const char *cell) {
  char text[LINE_BYTES], *words[WORDS_MAX], value[80];
  (void)apart(cell, text);
  size_t n = words_of(text, words);
  const char *most = NULL;
  for (size_t i = 1; i < n; i++)
    if (strcmp(words[i - 1], "/") == 0 && is_number(words[i]) && strcmp(words[i], "0") != 0) most = words[i];
  if (most == NULL) return;
  (void)snprintf(value, sizeof value, "%.20s MiB", most);
  put(r, FACT_IDENTITY, "memory", DEVICE_MEBIBYTES, value);
}

static void read_npu(struct device_reading *r) {
  char line[LINE_BYTES], *cells[CELLS_MAX], *words[WORDS_MAX], name[LINE_BYTES] = "", health[LINE_BYTES] = "", word[80];
  while (next_line(&r->lines, line)) {
    if (strstr(line, "Process") != NULL) return;
    if (r->n_devices == 0 && strstr(line, "npu-smi") != NULL && word_behind(line, "Version", word)) put_host(r, "driver.ascend", word);
    if (cells_of(line, cells) != 3) continue;
    if (strchr(cells[1], ':') == NULL) { /* the row of a name, before the row of its chip */
      size_t n = words_of(cells[0], words);
      bool first = n >= 2 && is_number(words[0]);
      (void)snprintf(name, sizeof name, "%s", first ? words[1] : "");
      (void)snprintf(health, sizeof health, "%s", first ? cells[1] : "");
    } else if (name[0] != 0) {
      begin_device(r, NULL);
      put_name(r, name);
      put(r, FACT_STATE, "health", DEVICE_TEXT, health);
      put(r, FACT_CONTEXT, "bus", DEVICE_TEXT, cells[1]);
      take_npu_memory(r, cells[2]);
      name[0] = 0;
    }
  }
}

/* --- rocm-smi: tables without bars, and lines that begin with "GPU[N]" --- */

struct columns {
  char name[WORDS_MAX][40];
  size_t at[WORDS_MAX], n; /* in characters */
};

static bool begins_character(char c) {
  return ((unsigned char)c & 0xc0) != 0x80;
}

/* Headings stand two blanks or more apart. */
static void take_heading(const char *line, struct columns *ret) {
  *ret = (struct columns){.n = 0};
  for (size_t i = 0; line[i] != 0 && ret->n < WORDS_MAX;) {
    size_t from = i;
    if (line[i] == ' ') {
      i++;
      continue;
    }
    while (line[i] != 0 && !(line[i] == ' ' && (line[i + 1] == ' ' || line[i + 1] == 0))) i++;
    ret->at[ret->n] = from;
    (void)snprintf(ret->name[ret->n++], sizeof ret->name[0], "%.*s", (int)(i - from), line + from);
  }
}

/* From its heading's place to the next one's. */
static const char *cell_under(const struct columns *c, const char *heading, const char *line, char ret[80]) {
  size_t column = 0, k = 0, used = 0;
  while (column < c->n && strcasecmp(c->name[column], heading) != 0) column++;
  if (column == c->n) return NULL;
  if (c->at[0] > 0) { /* ROCm 1: the rows stand elsewhere than the headings, and no cell holds two blanks */
    struct columns row;
    take_heading(line, &row);
    (void)snprintf(ret, 80, "%s", column < row.n ? row.name[column] : "");
    return ret;
  }
  size_t to = column + 1 < c->n ? c->at[column + 1] : SIZE_MAX;
  for (const char *p = line; *p != 0 && used < 78; p++) {
    if (k >= c->at[column] && k < to) ret[used++] = *p;
    k += begins_character(p[1]);
  }
  ret[used] = 0;
  while (used > 0 && ret[used - 1] == ' ') ret[--used] = 0;
  return ret + strspn(ret, " ");
}

static void take_rocm_row(struct device_reading *r, const struct columns *c, const char *line) {
  static const struct {
    const char *heading, *name;
    enum device_form form;
  } wanted[] = {{"PwrCap", "power-limit", DEVICE_MILLIWATTS},
                {"Perf", "performance-level", DEVICE_TEXT},
                {"VBIOS", "vbios", DEVICE_TEXT},
                {"DID", "device-id", DEVICE_TEXT},
                {"GFX VER", "gfx", DEVICE_TEXT},
                {"UMC RAS", "ecc", DEVICE_SWITCH},
                {"BUS", "bus", DEVICE_TEXT}};
  char text[80], id[80];
  for (size_t i = 0; i < LYNX_COUNT(wanted); i++) {
    const char *value = cell_under(c, wanted[i].heading, line, text);
    if (value != NULL && value[0] != 0)
      put(r, strcmp(wanted[i].name, "bus") == 0 ? FACT_CONTEXT : FACT_IDENTITY, wanted[i].name, wanted[i].form, value);
  }
  /* "0x74a1,   28851", or "[0x74a1 : 0x00]" */
  const char *ids = cell_under(c, "IDs", line, text);
  if (ids == NULL) ids = cell_under(c, "[Model : Revision]", line, text);
  if (ids != NULL && ids[0] == '[') ids++;
  if (ids != NULL && strncmp(ids, "0x", 2) == 0) {
    (void)snprintf(id, sizeof id, "%.*s", (int)strcspn(ids, ", :"), ids);
    put(r, FACT_IDENTITY, "device-id", DEVICE_TEXT, id);
  }
  /* "NPS1, SPX, 0" */
  const char *parts = cell_under(c, "Partitions", line, text), *comma = parts != NULL ? strchr(parts, ',') : NULL;
  if (comma == NULL || strncmp(parts, "N/A", 3) == 0) return;
  (void)snprintf(id, sizeof id, "%.*s", (int)(comma - parts), parts);
  put(r, FACT_IDENTITY, "memory-partition", DEVICE_TEXT, id);
  comma += 1 + strspn(comma + 1, " ");
  (void)snprintf(id, sizeof id, "%.*s", (int)strcspn(comma, ", "), comma);
  put(r, FACT_IDENTITY, "compute-partition", DEVICE_TEXT, id);
}

/* In ROCm 6.0 a second line of each device has its name, cut off at 20 letters. */
static void take_rocm_name(struct device_reading *r, const struct columns *c, const char *line) {
  enum { NAME_CUT = 20 };
  char text[80];
  const char *name = cell_under(c, "[Model : Revision]", line, text);
  if (name != NULL && name[0] != 0 && strlen(name) < NAME_CUT) put_name(r, name);
}

/* "GPU[0]   : Card series:   Navi 21 [...]" */
static void take_rocm_label(struct device_reading *r, const char *line) {
  static const struct {
    const char *label, *name, *unit;
    enum device_form form;
  } wanted[] = {{"Card series", "name", "", DEVICE_TEXT},
                {"GPU ID", "device-id", "", DEVICE_TEXT},
                {"Device ID", "device-id", "", DEVICE_TEXT},
                {"GFX Version", "gfx", "", DEVICE_TEXT},
                {"VBIOS version", "vbios", "", DEVICE_TEXT},
                {"Max Graphics Package Power (W)", "power-limit", " W", DEVICE_MILLIWATTS},
                {"VRAM Total Memory (B)", "memory", "", DEVICE_NUMBER},
                {"Performance Level", "performance-level", "", DEVICE_TEXT},
                {"Compute Partition", "compute-partition", "", DEVICE_TEXT},
                {"Memory Partition", "memory-partition", "", DEVICE_TEXT}};
  char *end, value[200];
  long index = strtol(line + 4, &end, 10);
  if (*end != ']' || index < 0 || index >= DEVICES_MAX) return;
  end += 1 + strspn(end + 1, " ");
  if (*end == ':') end++;
  end += strspn(end, " ");
  if ((int)index + 1 > r->n_devices) r->n_devices = (int)index + 1;
  r->index = (int)index;
  for (size_t i = 0; i < LYNX_COUNT(wanted); i++) {
    size_t n = strlen(wanted[i].label);
    if (strncasecmp(end, wanted[i].label, n) != 0 || end[n] != ':') continue;
    (void)snprintf(value, sizeof value, "%.150s%s", end + n + 1 + strspn(end + n + 1, " "), wanted[i].unit);
    put(r, FACT_IDENTITY, wanted[i].name, wanted[i].form, value);
  }
}

static void read_rocm(struct device_reading *r) {
  char line[LINE_BYTES], word[80];
  struct columns columns = {.n = 0};
  int rows = 0;
  while (next_line(&r->lines, line) && strstr(line, "End of ROCm SMI Log") == NULL) {
    size_t blanks = strspn(line, " ");
    if (line[0] == '=' && strspn(line, "= ") < strlen(line)) columns.n = 0, rows = 0; /* the next section */
    if (strncmp(line + blanks, "GPU[", 4) == 0) take_rocm_label(r, line + blanks);
    else if (strncasecmp(line + blanks, "Driver version", 14) == 0 && word_behind(line, "Driver version", word))
      put_host(r, "driver.amdgpu", word);
    else if (blanks <= 1 && (strncmp(line + blanks, "GPU ", 4) == 0 || strncmp(line + blanks, "Device ", 7) == 0))
      take_heading(line, &columns);
    else if (columns.n > 2 && isdigit((unsigned char)line[blanks]) && blanks <= 2) {
      if (++rows > r->n_devices) r->n_devices = rows;
      r->index = rows - 1; /* each table begins with the first device again */
      take_rocm_row(r, &columns, line);
    } else if (rows > 0 && blanks > 2 && line[blanks] != 0) take_rocm_name(r, &columns, line);
  }
}

/* --- outlines: a label, its value, and what stands below it by its indent --- */

struct outline {
  int indent[DEPTH_MAX];
  char label[DEPTH_MAX][80];
  int depth;
};

/* "Temperature/GPU Current Temp" */
static void path_of(const struct outline *o, const char *label, char ret[LINE_BYTES]) {
  size_t n = 0;
  for (int i = 0; i < o->depth; i++) n += (size_t)snprintf(ret + n, LINE_BYTES - n, "%s/", o->label[i]);
  (void)snprintf(ret + n, LINE_BYTES - n, "%s", label);
}

static void open_label(struct outline *o, int indent, const char *label) {
  while (o->depth > 0 && o->indent[o->depth - 1] >= indent) o->depth--;
  if (o->depth == DEPTH_MAX) return;
  o->indent[o->depth] = indent;
  (void)snprintf(o->label[o->depth++], sizeof o->label[0], "%.79s", label);
}

/* One line: below which labels it stands, and its value. False: it has none. */
static bool take_outline(struct outline *o, char *line, const char *between, char path[LINE_BYTES], char **ret_value) {
  int indent = (int)strspn(line, " ");
  char *label = line + indent, *cut = strstr(label, between);
  size_t n = strlen(label);
  *ret_value = NULL;
  if (cut != NULL) {
    *ret_value = trimmed(cut + strlen(between));
    *cut = 0;
  } else if (n > 0 && label[n - 1] == ':') label[n - 1] = 0;
  label = trimmed(label);
  while (o->depth > 0 && o->indent[o->depth - 1] >= indent) o->depth--;
  path_of(o, label, path);
  open_label(o, indent, label);
  return *ret_value != NULL;
}

/* A remark that the tool put behind a value. */
static void without_remark(char *value) {
  char *remark = strstr(value, " [Deprecated");
  if (remark != NULL) *remark = 0;
}

static void read_nvidia_outline(struct device_reading *r) {
  char line[LINE_BYTES], path[LINE_BYTES], *value;
  struct outline o = {.depth = 0};
  if (!next_line(&r->lines, line)) return; /* the heading */
  while (next_line(&r->lines, line) && strstr(line, r->tool->mark) == NULL) {
    if (strncmp(line, "GPU ", 4) == 0 && strchr(line, ':') != NULL && strstr(line, " : ") == NULL) {
      begin_device(r, NULL);
      o.depth = 0;
    } else if (take_outline(&o, line, " : ", path, &value) && r->n_devices <= DEVICES_MAX) {
      without_remark(value);
      if (strcmp(path, "KMD Version") == 0) (void)strcpy(path, "Driver Version");
      if (strcmp(path, "CUDA UMD Version") == 0) (void)strcpy(path, "CUDA Version");
      nvidia_smi_take(r->list, r->n_devices - 1, path, value);
    }
  }
}

struct outline_field {
  const char *path, *name;
  enum device_form form;
  enum fact_kind kind;
};

static void take_field(struct device_reading *r, const struct outline_field *fields, size_t n, const char *path, const char *value) {
  for (size_t i = 0; i < n; i++)
    if (strcasecmp(fields[i].path, path) == 0) put(r, fields[i].kind, fields[i].name, fields[i].form, value);
}

static void read_amd_outline(struct device_reading *r) {
  static const struct outline_field fields[] = {{"ASIC/MARKET_NAME", "name", DEVICE_TEXT, FACT_IDENTITY},
                                                {"ASIC/DEVICE_ID", "device-id", DEVICE_TEXT, FACT_IDENTITY},
                                                {"ASIC/TARGET_GRAPHICS_VERSION", "gfx", DEVICE_TEXT, FACT_IDENTITY},
                                                {"ASIC/NUM_COMPUTE_UNITS", "compute-units", DEVICE_NUMBER, FACT_IDENTITY},
                                                {"BUS/BDF", "bus", DEVICE_TEXT, FACT_CONTEXT},
                                                {"BDF", "bus", DEVICE_TEXT, FACT_CONTEXT},
                                                {"BUS/MAX_PCIE_WIDTH", "pcie-width-most", DEVICE_NUMBER, FACT_IDENTITY},
                                                {"BUS/MAX_PCIE_SPEED", "pcie-generation-most", DEVICE_GENERATION, FACT_IDENTITY},
                                                {"VBIOS/VERSION", "vbios", DEVICE_TEXT, FACT_IDENTITY},
                                                {"IFWI/VERSION", "vbios", DEVICE_TEXT, FACT_IDENTITY},
                                                {"LIMIT/SOCKET_POWER", "power-limit", DEVICE_MILLIWATTS, FACT_IDENTITY},
                                                {"LIMIT/SOCKET_POWER_LIMIT", "power-limit", DEVICE_MILLIWATTS, FACT_IDENTITY},
                                                {"LIMIT/PPT0/SOCKET_POWER_LIMIT", "power-limit", DEVICE_MILLIWATTS, FACT_IDENTITY},
                                                {"LIMIT/MAX_POWER", "power-limit-most", DEVICE_MILLIWATTS, FACT_IDENTITY},
                                                {"LIMIT/PPT0/MAX_POWER_LIMIT", "power-limit-most", DEVICE_MILLIWATTS, FACT_IDENTITY},
                                                {"RAS/ECC_BLOCK_STATE/UMC", "ecc", DEVICE_SWITCH, FACT_IDENTITY},
                                                {"PARTITION/COMPUTE_PARTITION", "compute-partition", DEVICE_TEXT, FACT_IDENTITY},
                                                {"PARTITION/MEMORY_PARTITION", "memory-partition", DEVICE_TEXT, FACT_IDENTITY},
                                                {"VRAM/SIZE", "memory", DEVICE_MEBIBYTES, FACT_IDENTITY},
                                                {"VRAM/TYPE", "memory-type", DEVICE_TEXT, FACT_IDENTITY},
                                                {"MEM_USAGE/TOTAL_VRAM", "memory", DEVICE_MEBIBYTES, FACT_IDENTITY},
                                                {"PERF_LEVEL", "performance-level", DEVICE_TEXT, FACT_IDENTITY}};
  char line[LINE_BYTES], path[LINE_BYTES], *value;
  struct outline o = {.depth = 0};
  int below = 0; /* the indent of a device's own lines */
  do {           /* the first line is the first device */
    if (!next_line(&r->lines, line)) return;
    if (strncmp(line, "GPU: ", 5) == 0 && is_number(line + 5)) {
      begin_device(r, line + 5);
      o.depth = 0;
      below = 1;
    } else if (line[0] != ' ' && line[0] != 0) below = 0; /* of a processor, or no line of the tool's */
    else if (below > 0 && take_outline(&o, line, ": ", path, &value)) {
      take_field(r, fields, LYNX_COUNT(fields), path, value);
      if (strcmp(path, "DRIVER/VERSION") == 0 && isdigit((unsigned char)value[0])) put_host(r, "driver.amdgpu", value);
    }
  } while (true);
}

static void read_gaudi_outline(struct device_reading *r) {
  static const struct outline_field fields[] = {
      {"Product Name", "name", DEVICE_TEXT, FACT_IDENTITY},
      {"Model Number", "part-number", DEVICE_TEXT, FACT_IDENTITY},
      {"Firmware [SPI] Version", "firmware.spi", DEVICE_TEXT, FACT_IDENTITY},
      {"Firmware [OS] Version", "firmware.os", DEVICE_TEXT, FACT_IDENTITY},
      {"CPLD Version", "firmware.cpld", DEVICE_TEXT, FACT_IDENTITY},
      {"PCI/Bus Id", "bus", DEVICE_TEXT, FACT_CONTEXT},
      {"PCI/AIP Link Info/Link Speed/Max", "pcie-generation-most", DEVICE_GENERATION, FACT_IDENTITY},
      {"PCI/AIP Link Info/Link Width/Max", "pcie-width-most", DEVICE_NUMBER, FACT_IDENTITY},
      {"Memory Usage/Total", "memory", DEVICE_MEBIBYTES, FACT_IDENTITY},
      {"Power Readings (54V PSU)/Power Limit", "power-limit", DEVICE_MILLIWATTS, FACT_IDENTITY},
      {"Power Readings/Power Limit", "power-limit", DEVICE_MILLIWATTS, FACT_IDENTITY}};
  char line[LINE_BYTES], path[LINE_BYTES], *value;
  struct outline o = {.depth = 0};
  if (!next_line(&r->lines, line)) return; /* the heading */
  while (next_line(&r->lines, line) && strstr(line, r->tool->mark) == NULL) {
    if (line[0] == '[' && strstr(line, "] AIP (") != NULL) {
      begin_device(r, NULL);
      o.depth = 0;
    } else if (take_outline(&o, line, " : ", path, &value)) {
      take_field(r, fields, LYNX_COUNT(fields), path, value);
      if (r->n_devices == 0 && strcmp(path, "Driver Version") == 0) put_host(r, "driver.habanalabs", value);
    }
  }
}

/* --- which tool --- */

static const struct device_tool tools[] = {
    {"nvidia-smi -q", "=NVSMI LOG=", "gpu", read_nvidia_outline, NULL},
    {"nvidia-smi", "| NVIDIA-SMI ", "gpu", read_box, NULL},
    {"rocm-smi", "= ROCm System Management Interface =", "amd-gpu", read_rocm, NULL},
    {"rocm-smi", "= Concise Info =", "amd-gpu", read_rocm, NULL}, /* where the first lines were left out */
    {"rocm-smi", "= VBIOS =", "amd-gpu", read_rocm, NULL},
    {"amd-smi", "| AMD-SMI ", "amd-gpu", read_amd_table, NULL},
    {"amd-smi static", "GPU: 0", "amd-gpu", read_amd_outline, "    "},
    {"npu-smi info", "| npu-smi ", "ascend", read_npu, NULL},
    {"npu-smi info", "| NPU Name | Health |", "ascend", read_npu, NULL},
    {"hl-smi", "| HL-SMI Version:", "gaudi", read_box, NULL},
    {"hl-smi log", "= HL-SMI LOG =", "gaudi", read_gaudi_outline, NULL}};

/* Runs of blanks become one. *ret_first: where in the line the mark's first letter, or the rule that it ends, begins. False: it is not there. */
static bool holds_mark(const char *line, const char *mark, size_t *ret_first) {
  char one[LINE_BYTES];
  size_t n = 0, first;
  for (const char *p = line; *p != 0; p++)
    if (*p != ' ' || p[1] != ' ') one[n++] = *p;
  one[n] = 0;
  const char *found = strstr(one, mark);
  if (found == NULL) return false;
  first = (size_t)(found - one);
  while (*mark == '=' && first > 0 && one[first - 1] == '=') first--;
  for (size_t i = 0, k = 0; line[i] != 0; i++) { /* back to the line as it stands */
    if (line[i] == ' ' && line[i + 1] == ' ') continue;
    if (k++ == first) return *ret_first = i, true;
  }
  return false;
}

/* Reading begins at the line that holds the mark. */
static bool find_report(const char *text, size_t length, const struct device_tool *tool, struct device_lines *ret) {
  struct device_lines lines = {.at = text, .end = text + length};
  char line[LINE_BYTES], next[LINE_BYTES];
  size_t first;
  for (const char *at = lines.at; next_line(&lines, line); at = lines.at) {
    if (!holds_mark(line, tool->mark, &first) || first > PREFIX_MAX) continue;
    struct device_lines behind = lines;
    bool good = tool->behind == NULL || (strcmp(line + first, tool->mark) == 0 && next_line(&behind, next) && strlen(next) > first &&
                                         strncmp(next + first, tool->behind, strlen(tool->behind)) == 0);
    if (!good) continue;
    *ret = (struct device_lines){.at = at, .end = text + length};
    (void)snprintf(ret->prefix, sizeof ret->prefix, "%.*s", (int)first, line);
    return true;
  }
  return false;
}

const char *device_text_tool(const char *text, size_t length) {
  struct device_lines lines;
  for (size_t i = 0; i < LYNX_COUNT(tools); i++)
    if (find_report(text, length, &tools[i], &lines)) return tools[i].name;
  return NULL;
}

enum lynx_status device_text_import(const char *text, size_t length, struct fact_list *ret, struct lynx_error *error) {
  int n_devices = 0;
  const char *name = "a device's tool";
  for (size_t i = 0; i < LYNX_COUNT(tools); i++) {
    struct device_reading r = {.tool = &tools[i], .list = ret};
    char key[40], count[16];
    if (strcmp(name, tools[i].name) == 0 || !find_report(text, length, &tools[i], &r.lines)) continue;
    name = tools[i].name;
    r.index = -1;
    tools[i].read(&r);
    struct device_lines again = r.lines;
    if (find_report(again.at, (size_t)(again.end > again.at ? again.end - again.at : 0), &tools[i], &again))
      put_as(&r, LAYER_ACCELERATOR, FACT_CONTEXT, "imported.reports", DEVICE_TEXT, "several of one tool, of which the first is read");
    if (r.n_devices > DEVICES_MAX) return lynx_fail(error, LYNX_LIMIT, "%s: %d devices; accepted: %d", name, r.n_devices, DEVICES_MAX);
    (void)snprintf(key, sizeof key, "%s.count", tools[i].family);
    (void)snprintf(count, sizeof count, "%d", r.n_devices);
    if (r.n_devices > 0) put_as(&r, LAYER_ACCELERATOR, FACT_IDENTITY, key, DEVICE_NUMBER, count);
    n_devices += r.n_devices;
  }
  if (n_devices == 0) return lynx_fail(error, LYNX_INPUT, "what %s prints, and no device in it", name);
  return LYNX_OK;
}
