"""Trains the network of ../network.ts further and writes its weights.

    python3 train.py BEFORE AFTER [STEPS]

BEFORE is a file of weights to begin with, or `-` for none; AFTER is written. Needs Debian's python3-torch and what
strips.py needs. The same numbers come out on the same machine: all chance is drawn from fixed seeds.
"""
import sys
import time

import numpy as np
import torch
from torch.nn.functional import conv2d, cross_entropy, pad

from strips import ALPHABET, DAMAGES, HEIGHT, strips

# As the table in network.ts: window, channels in and out, steps down and across; the fifth ends the rows.
LAYERS = [(5, 5, 1, 12, 2, 2), (3, 3, 12, 24, 2, 2), (3, 3, 24, 32, 1, 1), (3, 3, 32, 48, 2, 1), (4, 3, 48, 64, 1, 1),
          (1, 5, 64, 64, 1, 1), (1, 1, 64, 38, 1, 1)]
ENDS_ROWS = 4
BETWEEN = len(ALPHABET)
COLUMN = 4
WINDOW = 384
BATCH = 40
TRAINING, HELD_OUT = 12_000, 450


def around(size, step, window):
    """Zeros before and after, the larger half after."""
    total = max(0, (-(-size // step) - 1) * step + window - size)
    return total // 2, total - total // 2


def look(parameters, x):
    """Of strips (count, 1, 32, width) the logits (count, 38, columns)."""
    for at, ((height, width, _, _, down, across), (factors, biases)) in enumerate(zip(LAYERS, parameters)):
        rows = (0, 0) if at == ENDS_ROWS else around(x.shape[2], down, height)
        x = conv2d(pad(x, (*around(x.shape[3], across, width), *rows)), factors, biases, (down, across))
        if at < len(LAYERS) - 1:
            x = x.relu()
    return x[:, :, 0]


def read(file):
    numbers, at, parameters = np.fromfile(file, '<f4'), 0, []
    for height, width, came, goes, _, _ in LAYERS:
        size = height * width * came * goes
        factors = numbers[at:at + size].reshape(height, width, came, goes).transpose(3, 2, 0, 1).copy()
        parameters.append([torch.tensor(factors), torch.tensor(numbers[at + size:at + size + goes])])
        at += size + goes
    assert at == len(numbers)
    return parameters


def drawn():
    """Weights to begin with where there are none (He and others, 2015)."""
    return [[torch.randn(goes, came, height, width) * (2 / (height * width * came)) ** 0.5, torch.zeros(goes)]
            for height, width, came, goes, _, _ in LAYERS]


def write(parameters, file):
    flat = [part for factors, biases in parameters
            for part in (factors.detach().numpy().transpose(2, 3, 1, 0).ravel(), biases.detach().numpy())]
    np.concatenate(flat).astype('<f4').tofile(file)


def batch(random, made):
    """Windows of strips, with the class of each column; one neither near a character nor between two does not count."""
    x = np.empty((BATCH, 1, HEIGHT, WINDOW), np.float32)
    classes = np.full((BATCH, WINDOW // COLUMN), BETWEEN, np.int64)
    counts = np.ones((BATCH, WINDOW // COLUMN), np.float32)
    centres = np.arange(WINDOW // COLUMN) * COLUMN + 1.5
    for b in range(BATCH):
        strip, middles, labels = made[random.integers(len(made))]
        start = int(random.integers(-40, max(1, strip.shape[1] - WINDOW + 40)))
        window = np.full((HEIGHT, WINDOW), np.median(strip), np.float32)
        first, last = max(0, start), min(strip.shape[1], start + WINDOW)
        window[:, first - start:last - start] = strip[:, first:last]
        window = np.roll(window, random.integers(-2, 3), 0)
        x[b, 0] = (window - 128) / 64 * random.uniform(0.7, 1.25) + random.uniform(-0.3, 0.3)
        if random.random() < 0.3:
            x[b, 0] += random.normal(0, random.uniform(0.02, 0.2), window.shape)
        if len(middles) > 1:
            away = np.abs(centres[:, None] - (middles - start)[None])
            nearest = away.argmin(1)
            distance = away.min(1) / np.median(np.diff(middles))
            classes[b, distance < 0.22] = labels[nearest[distance < 0.22]]
            counts[b, (distance >= 0.22) & (distance < 0.36)] = 0
    return torch.tensor(x), torch.tensor(classes), torch.tensor(counts)


@torch.no_grad()
def right(parameters, made):
    """The share of characters that are the likeliest class in the column of their middle, by what was done to them."""
    kinds = ['plain', 'plain', 'plain', 'other', *DAMAGES]
    seen = {}
    for at, (strip, middles, labels) in enumerate(made):
        logits = look(parameters, torch.tensor((strip.astype(np.float32) - 128) / 64)[None, None])[0]
        best = logits.argmax(0).numpy()
        if len(labels) == 0:
            seen.setdefault('other', []).append((best == BETWEEN).mean())
            continue
        columns = np.clip(np.round((middles - 1.5) / COLUMN).astype(int), 0, len(best) - 1)
        seen.setdefault(kinds[at % len(kinds)], []).append((best[columns] == labels).mean())
    return ', '.join(f'{kind} {np.mean(shares):.4f}' for kind, shares in sorted(seen.items()))


def main():
    before, after = sys.argv[1:3]
    steps = int(sys.argv[3]) if len(sys.argv) > 3 else 4000
    torch.manual_seed(1)
    random = np.random.default_rng(1)
    began = time.time()
    made, held_out = strips(20261, TRAINING), strips(90001, HELD_OUT)
    print(f'{TRAINING} strips made, {time.time() - began:.0f} s', flush=True)
    parameters = drawn() if before == '-' else read(before)
    print(f'before: {right(parameters, held_out)}', flush=True)
    numbers = [each.requires_grad_() for pair in parameters for each in pair]
    rate = 1e-3 if before == '-' else 4e-4
    optimiser = torch.optim.AdamW(numbers, rate, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps, rate * 0.03)
    total = 0.0
    for step in range(1, steps + 1):
        x, classes, counts = batch(random, made)
        losses = cross_entropy(look(parameters, x), classes, reduction='none')
        loss = (losses * counts).sum() / counts.sum()
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(numbers, 1.0)
        optimiser.step()
        schedule.step()
        total += loss.item()
        if step % 250 == 0 or step == steps:
            shares = right(parameters, held_out)
            print(f'{step}: loss {total / 250:.4f}, {time.time() - began:.0f} s; {shares}', flush=True)
            total = 0.0
            write(parameters, after)


if __name__ == '__main__':
    main()
