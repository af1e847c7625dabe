/** An image with one byte per pixel. 0 is black. */
export interface Gray {
  readonly data: Uint8Array
  readonly width: number
  readonly height: number
}

/** Takes the brightest of red, green and blue. Coloured print becomes bright, and black print stays black. */
export function brightest (rgb: Uint8Array, width: number, height: number): Gray {
  const data = new Uint8Array(width * height)
  for (let at = 0; at < data.length; at++) data[at] = Math.max(rgb[3 * at]!, rgb[3 * at + 1]!, rgb[3 * at + 2]!)
  return { data, width, height }
}

/** Rotates the image clockwise by quarter turns. */
export function turned ({ data, width, height }: Gray, quarters: 1 | 2 | 3): Gray {
  if (quarters === 2) return { data: data.toReversed(), width, height }
  const out = new Uint8Array(data.length)
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const to = quarters === 1 ? x * height + height - 1 - y : (width - 1 - x) * height + y
      out[to] = data[y * width + x]!
    }
  }
  return { data: out, width: height, height: width }
}

/** The image turned clockwise by an angle in radians, on a canvas large enough for it. Its edges fill the corners. */
export function tilted ({ data, width, height }: Gray, angle: number): Gray {
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)]
  const out = {
    width: Math.ceil(width * Math.abs(cos) + height * Math.abs(sin)),
    height: Math.ceil(width * Math.abs(sin) + height * Math.abs(cos))
  }
  const pixels = new Uint8Array(out.width * out.height)
  for (let y = 0, at = 0; y < out.height; y++) {
    for (let x = 0; x < out.width; x++, at++) {
      const [dx, dy] = [x - out.width / 2, y - out.height / 2]
      const u = Math.max(0, Math.min(width - 1.001, dx * cos + dy * sin + width / 2))
      const v = Math.max(0, Math.min(height - 1.001, dy * cos - dx * sin + height / 2))
      const from = Math.floor(v) * width + Math.floor(u)
      const [fx, fy] = [u % 1, v % 1]
      const below = Math.min(from + width, data.length - 2)
      pixels[at] = (data[from]! * (1 - fx) + data[from + 1]! * fx) * (1 - fy) +
        (data[below]! * (1 - fx) + data[below + 1]! * fx) * fy
    }
  }
  return { data: pixels, ...out }
}

/** Shrinks the image to a width by averaging pixels. A narrower image is returned as is. */
export function shrunk (picture: Gray, width: number): Gray {
  if (picture.width <= width) return picture
  const scale = picture.width / width
  const height = Math.max(1, Math.round(picture.height / scale))
  const data = new Uint8Array(width * height)
  // The source span of each column, computed once for all rows.
  const columns = Int32Array.from(Array.from({ length: width }, (_, x) => span(x, scale, picture.width)).flat())
  for (let y = 0; y < height; y++) {
    const [top, bottom] = span(y, scale, picture.height)
    for (let x = 0; x < width; x++) {
      const left = columns[2 * x]!
      const right = columns[2 * x + 1]!
      let sum = 0
      for (let v = top; v < bottom; v++) {
        for (let u = left; u < right; u++) sum += picture.data[v * picture.width + u]!
      }
      data[y * width + x] = Math.round(sum / ((bottom - top) * (right - left)))
    }
  }
  return { data, width, height }
}

function span (at: number, scale: number, limit: number): [from: number, to: number] {
  const from = Math.min(limit - 1, Math.floor(at * scale))
  return [from, Math.min(limit, Math.max(from + 1, Math.floor((at + 1) * scale)))]
}
