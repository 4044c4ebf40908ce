#!/usr/bin/env python3
"""Train the reference executor's byte-level model and write it as safetensors.

Not needed to build, test or run anything: the trained file is kept in the tree. To make it again:
    python3 -m venv /tmp/v && /tmp/v/bin/pip install torch numpy && /tmp/v/bin/python train.py

The network is the one that reference/transformer.c executes: RMSNorm, rotary positions (half-split),
grouped-query attention, SwiGLU, tied embeddings. A token is a byte; byte 0 begins a sequence.
Weights are stored as bf16, so "f32" in the reference executor means f32 arithmetic on these weights.
"""
import argparse, json, math, os, struct, time
import torch
import torch.nn.functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
SHAPE = dict(vocab=256, dim=128, layers=3, heads=4, kv_heads=2, hidden=256, context=512)
EPS, THETA = 1e-5, 10000.0


def make_weights(generator):
    d, h = SHAPE["dim"], SHAPE["hidden"]
    kv = d // SHAPE["heads"] * SHAPE["kv_heads"]

    def normal(*size):
        return torch.randn(*size, generator=generator) * 0.02

    w = {"model.embed_tokens.weight": normal(SHAPE["vocab"], d), "model.norm.weight": torch.ones(d)}
    for i in range(SHAPE["layers"]):
        p = f"model.layers.{i}."
        w[p + "input_layernorm.weight"] = torch.ones(d)
        w[p + "post_attention_layernorm.weight"] = torch.ones(d)
        w[p + "self_attn.q_proj.weight"] = normal(d, d)
        w[p + "self_attn.k_proj.weight"] = normal(kv, d)
        w[p + "self_attn.v_proj.weight"] = normal(kv, d)
        w[p + "self_attn.o_proj.weight"] = normal(d, d) / math.sqrt(2 * SHAPE["layers"])
        w[p + "mlp.gate_proj.weight"] = normal(h, d)
        w[p + "mlp.up_proj.weight"] = normal(h, d)
        w[p + "mlp.down_proj.weight"] = normal(d, h) / math.sqrt(2 * SHAPE["layers"])
    return w


def rms(x, g):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + EPS) * g


def rope_tables(n):
    hd = SHAPE["dim"] // SHAPE["heads"]
    freq = THETA ** (-torch.arange(0, hd, 2).float() / hd)
    angle = torch.outer(torch.arange(n).float(), freq)
    return torch.cat([angle.cos(), angle.cos()], -1), torch.cat([angle.sin(), angle.sin()], -1)


def rotate(x, cos, sin):
    half = x.shape[-1] // 2
    turned = torch.cat([-x[..., half:], x[..., :half]], -1)
    return x * cos + turned * sin


def forward(w, tokens, cos, sin):
    b, n = tokens.shape
    heads, kv_heads = SHAPE["heads"], SHAPE["kv_heads"]
    hd = SHAPE["dim"] // heads
    cos, sin = cos[:n], sin[:n]
    x = F.embedding(tokens, w["model.embed_tokens.weight"])
    for i in range(SHAPE["layers"]):
        p = f"model.layers.{i}."
        y = rms(x, w[p + "input_layernorm.weight"])
        q = (y @ w[p + "self_attn.q_proj.weight"].T).view(b, n, heads, hd).transpose(1, 2)
        k = (y @ w[p + "self_attn.k_proj.weight"].T).view(b, n, kv_heads, hd).transpose(1, 2)
        v = (y @ w[p + "self_attn.v_proj.weight"].T).view(b, n, kv_heads, hd).transpose(1, 2)
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        k = k.repeat_interleave(heads // kv_heads, 1)
        v = v.repeat_interleave(heads // kv_heads, 1)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + a.transpose(1, 2).reshape(b, n, -1) @ w[p + "self_attn.o_proj.weight"].T
        y = rms(x, w[p + "post_attention_layernorm.weight"])
        y = F.silu(y @ w[p + "mlp.gate_proj.weight"].T) * (y @ w[p + "mlp.up_proj.weight"].T)
        x = x + y @ w[p + "mlp.down_proj.weight"].T
    return rms(x, w["model.norm.weight"]) @ w["model.embed_tokens.weight"].T


def bits_per_byte(w, data, cos, sin, windows, n):
    """Teacher-forced: each window starts from byte 0; the mean of -log2 p over its n bytes."""
    total = 0.0
    with torch.no_grad():
        for i in range(windows):
            target = data[i * n:(i + 1) * n]
            inputs = torch.cat([torch.zeros(1, dtype=torch.long), target[:-1]])
            logits = forward(w, inputs[None], cos, sin)[0]
            total += F.cross_entropy(logits, target, reduction="sum").item()
    return total / (windows * n) / math.log(2)


def write_safetensors(path, w, metadata):
    header, offset, blobs = {"__metadata__": metadata}, 0, []
    for name in sorted(w):
        raw = w[name].detach().to(torch.bfloat16).view(torch.int16).numpy().tobytes()
        header[name] = {"dtype": "BF16", "shape": list(w[name].shape), "data_offsets": [offset, offset + len(raw)]}
        offset += len(raw)
        blobs.append(raw)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=4000)
    p.add_argument("--minutes", type=float, default=1e9, help="stop after this long, whatever --steps says")
    p.add_argument("--batch", type=int, default=24)
    p.add_argument("--out", default=os.path.join(HERE, "byte.safetensors"))
    a = p.parse_args()
    torch.manual_seed(1)
    text = open(os.path.join(HERE, "shakespeare.txt"), "rb").read()
    data = torch.tensor(list(text), dtype=torch.long)
    cut = len(data) * 9 // 10  # the last tenth is held out, here and in every accuracy figure
    train, held = data[:cut], data[cut:]
    w = make_weights(torch.Generator().manual_seed(1))
    params = [t.requires_grad_() for t in w.values()]
    decay = [t for t in params if t.dim() == 2]
    rest = [t for t in params if t.dim() == 1]
    opt = torch.optim.AdamW([{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}],
                            lr=3e-3, betas=(0.9, 0.95))
    n = SHAPE["context"] // 2
    cos, sin = rope_tables(SHAPE["context"])
    began = time.time()
    step = 0
    while True:
        progress = max(step / a.steps, (time.time() - began) / 60 / a.minutes)
        if progress >= 1:
            break
        rate = min(1.0, (step + 1) / 100) * (0.5 + 0.5 * math.cos(math.pi * progress))
        for g in opt.param_groups:
            g["lr"] = 3e-3 * max(rate, 0.02)
        at = torch.randint(0, len(train) - n - 1, (a.batch,))
        target = torch.stack([train[i:i + n] for i in at])
        inputs = torch.cat([torch.zeros(a.batch, 1, dtype=torch.long), target[:, :-1]], 1)
        loss = F.cross_entropy(forward(w, inputs, cos, sin).reshape(-1, 256), target.reshape(-1))
        opt.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(params, 1.0)
        opt.step()
        if step % 100 == 0:
            print(f"step {step} loss {loss.item() / math.log(2):.3f} bits/byte, {time.time() - began:.0f} s", flush=True)
        step += 1
    stored = {k: v.detach().to(torch.bfloat16).float() for k, v in w.items()}
    score = bits_per_byte(stored, held, cos, sin, 32, n)
    meta = {k: str(v) for k, v in SHAPE.items()}
    meta.update(rope_theta=str(THETA), rms_eps=str(EPS), steps=str(step), trained_on="shakespeare.txt, first nine tenths",
                held_out_bits_per_byte=f"{score:.4f}", held_out_windows="32", held_out_window_bytes=str(n))
    write_safetensors(a.out, stored, meta)
    print(f"{step} steps; held-out {score:.4f} bits/byte; wrote {a.out} ({os.path.getsize(a.out)} bytes)")


if __name__ == "__main__":
    main()
