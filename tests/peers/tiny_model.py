"""A llama of random weights and a tokenizer of bytes, in the folder that is named: no weights are to be had here. Where
`letters` follows it answers in letters, as trained ones do: other bytes are no text by themselves, are held back, and
come in heaps."""

import sys

import torch
from tokenizers import Tokenizer, decoders, models
from tokenizers.pre_tokenizers import ByteLevel
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

torch.manual_seed(1)
vocabulary = {letter: i for i, letter in enumerate(sorted(ByteLevel.alphabet()))}
vocabulary["<s>"], vocabulary["</s>"] = 256, 257
plain = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
plain.pre_tokenizer = ByteLevel(add_prefix_space=False)
plain.decoder = decoders.ByteLevel()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=plain, bos_token="<s>", eos_token="</s>", pad_token="</s>")
tokenizer.chat_template = "{% for m in messages %}{{ m['content'] }}\n{% endfor %}"
config = LlamaConfig(
    vocab_size=258,
    hidden_size=128,
    intermediate_size=256,
    num_hidden_layers=2,
    num_attention_heads=4,
    max_position_embeddings=2048,
    bos_token_id=256,
    eos_token_id=257,
)
model = LlamaForCausalLM(config)
if "letters" in sys.argv[2:]:
    others = [i for letter, i in vocabulary.items() if len(letter) != 1 or not "!" <= letter <= "~"]
    with torch.no_grad():
        model.lm_head.weight[others] = 0
model.save_pretrained(sys.argv[1])
tokenizer.save_pretrained(sys.argv[1])
