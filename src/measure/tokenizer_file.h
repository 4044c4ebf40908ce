/* measure/tokenizer_file.h: how many tokens a text is, by a model's tokenizer.json.
 * Does     byte-pair encodings, by bytes (GPT-2, Llama 3, Qwen) and by characters with a mark for blanks (Llama 2, Mistral, Gemma); other
 *          kinds are refused by name
 * Limits   the file 256 MiB; a text 1 MiB. Unicode normal forms are left out: a text that is not in them already may be some tokens longer
 *          here. Tokens that the model adds around a text are not counted
 * Errors   INPUT: not a tokenizer.json; UNSUPPORTED: a kind or step that is not known here, by its name; LIMIT: a text that is too long, or
 *          a pattern that does not end in reasonable time
 * Source   Gage 1994; Sennrich, Haddow and Birch 2016 (merges in order of rank); patterns by PCRE2 */
#ifndef MEASURE_TOKENIZER_FILE_H
#define MEASURE_TOKENIZER_FILE_H

#include "measure/prompt_tokens.h"

struct tokenizer;

enum lynx_status tokenizer_open(const char *json, size_t length, struct tokenizer **ret, struct lynx_error *error) LYNX_MUST_CHECK;
/* The file at path, and its SHA-256 as text (65 bytes). */
enum lynx_status tokenizer_read(const char *path, struct tokenizer **ret, char *ret_digest, struct lynx_error *error) LYNX_MUST_CHECK;
token_counter tokenizer_count; /* context: struct tokenizer */
void tokenizer_close(struct tokenizer *tokenizer);

#endif
