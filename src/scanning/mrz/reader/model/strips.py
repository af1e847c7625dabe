"""Pictures of single lines of a machine-readable zone, as the reader cuts them out, with what stands where.

Needs Debian's python3-numpy, python3-pil, fonts-ocr-b and fonts-dejavu-core. All holders are invented.
"""
import io
import math

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

ALPHABET = '<0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ'
HEIGHT = 32
OCR_B = '/usr/share/fonts/opentype/ocr-b/OCRB.otf'
OTHER_FONTS = [f'/usr/share/fonts/truetype/dejavu/{name}.ttf'
               for name in ('DejaVuSans', 'DejaVuSerif', 'DejaVuSans-Bold')]
LETTERS = ALPHABET[11:]
DIGITS = ALPHABET[1:11]
STATES = ['ITA', 'D<<', 'FRA', 'ESP', 'POL', 'ROU', 'GBR', 'USA', 'NLD', 'CHE', 'AUT', 'CHN', 'BRA', 'UKR', 'HRV',
          'UTO']
WORDS = ('Si ricorda ai gentili ospiti che la colazione è servita dalle 7 e 30 '
         'Cognome Nome Data di nascita Luogo').split()
# How a picture was damaged beyond blur and noise: a share of the strips each.
DAMAGES = ('worn', 'glare', 'shadow', 'moire', 'dark')


def zone_line(random):
    """A line of a zone of any layout: what a network must know is which characters follow each other, not sums."""
    pick = lambda signs, count: ''.join(random.choice(list(signs), count))
    length = int(random.choice([30, 36, 44]))
    kind = random.random()
    if kind < 0.3:
        name = lambda: '<'.join(pick(LETTERS, random.integers(2, 10)) for _ in range(random.integers(1, 3)))
        names = [name() for _ in range(2)]
        line = pick('PIVAC', 1) + pick('<ABDO', 1) + random.choice(STATES) + '<<'.join(names)
    elif kind < 0.65:
        dates = ''.join(f'{random.integers(0, 100):02}{random.integers(1, 13):02}{random.integers(1, 29):02}' +
                        pick(DIGITS, 1) + sex for sex in (str(random.choice(list('MF<'))), ''))
        line = pick(LETTERS + DIGITS, 9) + pick(DIGITS, 1) + random.choice(STATES) + dates
        if random.random() < 0.5:
            line += pick(DIGITS + LETTERS, random.integers(3, 12))
    elif kind < 0.85:
        line = pick(LETTERS + DIGITS * 2 + '<<<', length)
    else:
        line = pick(LETTERS, random.integers(4, 20)) + '<<' + pick(LETTERS, random.integers(2, 9))
    return line[:length].ljust(length, '<')


def ground(random, height, width):
    """Gray of a card: uneven, with a faint pattern at times."""
    y, x = np.mgrid[0:height, 0:width].astype(np.float32)
    gray = np.full((height, width), random.uniform(130, 250), np.float32)
    gray += random.uniform(-30, 30) * x / width + random.uniform(-20, 20) * y / height
    for _ in range(random.integers(0, 4)):
        angle, period = random.uniform(0, math.pi), random.uniform(4, 40)
        along = (x * math.cos(angle) + y * math.sin(angle)) / period
        gray += random.uniform(1, 9) * np.sin(along * 2 * math.pi + 3 * np.sin(x / 90))
    return gray


def print_on(random, text, font, gray, left, top, pitch):
    """Draws a text at an even distance of its characters; returns the picture and the middle of each character."""
    height, width = gray.shape
    mask = Image.new('L', (width, height), 0)
    draw = ImageDraw.Draw(mask)
    uneven = 0.03 if random.random() < 0.25 else 0
    middles = []
    for at, char in enumerate(text):
        x = left + at * pitch + random.uniform(-uneven, uneven) * pitch
        draw.text((x, top + random.uniform(-uneven, uneven) * pitch), char, font=font, fill=255)
        middles.append(x + font.getlength('0') / 2)
    weight = random.random()
    if weight < 0.2:
        mask = mask.filter(ImageFilter.MaxFilter(3))
    elif weight < 0.3 and font.size > 40:
        mask = mask.filter(ImageFilter.MinFilter(3))
    ink = np.asarray(mask, np.float32) / 255
    return ink, np.array(middles, np.float32)


def smooth_noise(random, height, width, size):
    """Noise of about that size in pixels, from 0 to 1."""
    small = random.random((max(2, int(height / size) + 2), max(2, int(width / size) + 2))).astype(np.float32)
    return np.asarray(Image.fromarray(small).resize((width, height), Image.BICUBIC), np.float32)


def worn(random, ink):
    """Ink that has come off in patches, and scratches."""
    height, width = ink.shape
    patches = smooth_noise(random, height, width, random.uniform(3, 14))
    ink = ink * np.clip((patches - random.uniform(0.05, 0.32)) * 6, random.uniform(0, 0.4), 1)
    scratches = Image.new('L', (width, height), 255)
    draw = ImageDraw.Draw(scratches)
    for _ in range(random.integers(0, 6)):
        ends = [(random.uniform(0, width), random.uniform(0, height)) for _ in range(2)]
        draw.line(ends, fill=int(random.integers(0, 150)), width=int(random.integers(1, 3)))
    return ink * np.asarray(scratches, np.float32) / 255


def damage(random, kind, gray):
    """Light that falls badly, or a screen that was photographed."""
    height, width = gray.shape
    y, x = np.mgrid[0:height, 0:width].astype(np.float32)
    if kind == 'glare':
        centre, size = random.uniform(0, width), random.uniform(0.5, 4) * height
        spot = np.exp(-((x - centre) / size) ** 2 - ((y - random.uniform(-0.5, 1.5) * height) / height) ** 2)
        return gray + random.uniform(40, 150) * spot
    if kind == 'shadow':
        edge = (x - random.uniform(0, width)) * random.choice([-1, 1]) + (y - height / 2) * random.uniform(-2, 2)
        softness = random.uniform(1, 0.6 * height)
        return gray * (1 - random.uniform(0.2, 0.6) / (1 + np.exp(np.clip(-edge / softness, -30, 30))))
    if kind == 'moire':
        angle, period = random.uniform(0, math.pi), random.uniform(2.2, 9)
        return gray + random.uniform(8, 30) * np.sin((x * math.cos(angle) + y * math.sin(angle)) / period * 2 * math.pi)
    if kind == 'dark':
        light = random.uniform(0.12, 0.4)
        return gray * light + random.normal(0, random.uniform(2, 7), gray.shape)
    return gray


def photographed(random, gray, cap):
    """The same at the sharpness of a photo; returns the picture and by how much it is smaller."""
    wanted = random.choice([6.5, 7, 8, 9, 10, 12, 14, 18, 24, 32])
    scale = min(1, wanted / cap)
    image = Image.fromarray(gray)
    if scale < 1:
        image = image.resize((max(40, int(image.width * scale)), max(10, int(image.height * scale))), Image.BOX)
    if random.random() < 0.6:
        # Gray of floats cannot be blurred: the picture is of bytes from here on.
        image = Image.fromarray(np.clip(np.asarray(image), 0, 255).astype(np.uint8))
        image = image.filter(ImageFilter.GaussianBlur(random.uniform(0.3, 1) * (1 if wanted > 12 else 0.6)))
    pixels = np.asarray(image, np.float32)
    if random.random() < 0.15:
        pixels = (pixels + np.roll(pixels, 1, int(random.integers(0, 2)))) / 2
    if random.random() < 0.7:
        pixels = pixels + random.normal(0, random.uniform(1, 11), pixels.shape)
    pixels = np.clip(pixels, 0, 255).astype(np.uint8)
    if random.random() < 0.6:
        held = io.BytesIO()
        Image.fromarray(pixels).save(held, 'JPEG', quality=int(random.integers(30, 93)))
        pixels = np.asarray(Image.open(held).convert('L'))
    return pixels, scale


def cut(random, pixels, cap):
    """A strip of 32 rows with capitals about 20 high, its contrast stretched; returns how wide it has become."""
    wanted = random.uniform(17, 23)
    across, along = wanted / cap, wanted / cap * random.uniform(0.94, 1.06)
    size = int(pixels.shape[1] * along), int(pixels.shape[0] * across)
    image = Image.fromarray(pixels).resize(size, Image.BILINEAR)
    whole = np.asarray(image, np.float32)
    top = int(round((whole.shape[0] - HEIGHT) / 2 + random.uniform(-4, 4)))
    padded = np.pad(whole, ((HEIGHT, HEIGHT), (0, 0)), mode='edge')
    strip = padded[HEIGHT + top:2 * HEIGHT + top]
    dark, bright = np.percentile(strip, 1), np.percentile(strip, 99)
    strip = np.clip((strip - dark) / max(1, bright - dark) * 255, 0, 255).astype(np.uint8)
    return strip, along


def turned(random, gray, middles):
    """Turned by a little, as an angle that was not measured exactly."""
    height, width = gray.shape
    angle = math.radians(random.normal(0, 0.6))
    slant = random.normal(0, 0.03)
    a, b, d, e = math.cos(angle), -math.sin(angle) + slant, math.sin(angle), math.cos(angle)
    x, y = width / 2, height / 2
    forward = np.array([[a, b], [d, e]])
    inverse = np.linalg.inv(forward)
    shift = np.array([x, y]) - inverse @ np.array([x, y])
    matrix = (*inverse[0], shift[0], *inverse[1], shift[1])
    edge = float(np.median(gray))
    image = Image.fromarray(gray).transform((width, height), Image.AFFINE, matrix, Image.BILINEAR, fillcolor=edge)
    return np.asarray(image, np.float32), x + (middles - x) * a


def line_strip(random, kind):
    """A strip of a zone, damaged as asked; None where it does not fit."""
    text = zone_line(random)
    cap = random.uniform(18, 56)
    font = ImageFont.truetype(OCR_B, int(round(cap / 0.7)))
    cap = font.size * 0.7
    pitch = font.getlength('0') * random.uniform(0.93, 1.07)
    width, height = int(pitch * len(text) + cap * random.uniform(1.5, 6.4)), int(cap * random.uniform(2.2, 3.4))
    left, top = random.uniform(0.25, 0.75) * (width - pitch * len(text)), (height - cap) / 2 - font.getbbox('H')[1]
    gray = ground(random, height, width)
    ink, middles = print_on(random, text, font, gray, left, top, pitch)
    if random.random() < 0.7:
        distance = cap * random.uniform(2.1, 2.7)
        for side in ([1], [-1, 1])[random.integers(0, 2)]:
            other = zone_line(random)[:len(text)]
            ink = np.maximum(ink, print_on(random, other, font, gray, left, top + side * distance, pitch)[0])
    if kind == 'worn':
        ink = worn(random, ink)
    gray = gray * (1 - ink) + random.uniform(5, 110) * ink
    gray, middles = turned(random, gray, middles)
    pixels, scale = photographed(random, damage(random, kind, gray), cap)
    strip, along = cut(random, pixels, cap * scale)
    if not 300 <= strip.shape[1] <= 1700:
        return None
    return strip, middles * (strip.shape[1] / width), np.array([ALPHABET.index(char) for char in text], np.uint8)


def other_strip(random):
    """A strip of something else: words in other print, bars, noise, an empty card. No character stands in it."""
    kind = random.integers(0, 4)
    height, width = 70, int(random.uniform(500, 1400))
    gray = ground(random, height, width)
    if kind == 0:
        font = ImageFont.truetype(str(random.choice(OTHER_FONTS)), int(random.uniform(22, 40)))
        mask = Image.new('L', (width, height), 0)
        ImageDraw.Draw(mask).text((random.uniform(0, 40), 15), ' '.join(random.choice(WORDS, 16)), font=font, fill=255)
        gray = gray * (1 - np.asarray(mask, np.float32) / 255 * random.uniform(0.5, 0.95))
    elif kind == 1:
        bars = np.repeat(random.random(width // 3 + 1) < 0.5, 3)[:width]
        gray = gray * (1 - 0.8 * bars[None])
    elif kind == 2:
        gray = gray + random.normal(0, random.uniform(5, 50), gray.shape)
    pixels, scale = photographed(random, gray, 28)
    strip, _ = cut(random, pixels, 28 * scale)
    return strip, np.zeros(0, np.float32), np.zeros(0, np.uint8)


def strips(seed, count, damages=(None, None, None, 'other') + DAMAGES):
    """So many strips, the damages in turn: `None` is blur and noise alone. Always the same for a seed."""
    random = np.random.default_rng(seed)
    made = []
    while len(made) < count:
        kind = damages[len(made) % len(damages)]
        strip = other_strip(random) if kind == 'other' else line_strip(random, kind)
        if strip is not None:
            made.append(strip)
    return made
