/* Imports of Python source: each form of the language's reference (7.11), and what is none. */
#include "base/buffer.h"
#include "executor/python_imports.h"
#include "tests/check.h"

static const struct {
  const char *source, *modules;
} cases[] = {{"import a", "a "},
             {"import a.b as c, d\nimport e", "a.b d e "},
             {"from a import b, c as d\n", "a a.b a.c "},
             {"from a.b import (c, # one\n   d,\n e,)\n", "a.b a.b.c a.b.d a.b.e "},
             {"from . import x\nfrom ..p.q import y\n", ". .x ..p.q ..p.q.y "},
             {"from a import *\n", "a "},
             {"try: import a\nexcept ImportError: import b; import c\n", "a b c "},
             {"    import a\\\n  , b\n", "a b "},
             {"x = importlib.import_module('a.b'); y = __import__(\"c\")", "a.b c "},
             {"importlib.import_module(name)", ""},
             {"# import a\nimportant = 1\nreimport = from_a\nyield from a\nraise X from e\n", ""},
             {"\xef\xbb\xbfimport a\n\fimport b\rimport c", "a b c "},
             {"import", ""},
             {"from", ""},
             {"import_module(", ""}};

static void add(void *context, const char *module) {
  (void)buffer_printf(context, "%s ", module);
}

int main(void) {
  struct buffer found;
  buffer_init(&found, 1000);
  for (size_t i = 0; i < LYNX_COUNT(cases); i++) {
    buffer_clear(&found);
    python_imports(cases[i].source, strlen(cases[i].source), add, &found);
    CHECK_TEXT(found.length > 0 ? found.data : "", cases[i].modules);
  }
  static const struct {
    const char *source, *word;
  } dynamic[] = {{"import sys\nsys.path.insert(0, 'lib')", "sys.path"},
                 {"runpy.run_path('x')", "runpy"},
                 {"exec(open('x').read())", "exec"},
                 {"import_module('a' + b)", NULL},
                 {"importlib.import_module(name)", "import_module"},
                 {"# sys.path\nexecutor(1); my_exec (2)", NULL},
                 {"executor.exec ( code )", "exec"}};
  for (size_t i = 0; i < LYNX_COUNT(dynamic); i++) {
    const char *word = python_is_dynamic(dynamic[i].source, strlen(dynamic[i].source));
    CHECK_TEXT(word != NULL ? word : "none", dynamic[i].word != NULL ? dynamic[i].word : "none");
  }
  buffer_release(&found);
  return check_end();
}
