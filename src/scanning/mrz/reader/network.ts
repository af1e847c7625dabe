import { readFileSync } from 'node:fs'
import type { Strip } from './strip.ts'

/** The network's classes in order. One class follows after these: "between two characters". */
export const ALPHABET = '<0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ'
export const BETWEEN = ALPHABET.length
export const FILLER = ALPHABET.indexOf('<')
const CLASSES = ALPHABET.length + 1
/** Pixels of the strip per output column. */
export const COLUMN = 4

/** A convolution: window, input and output channels, strides. */
interface Layer {
  height: number
  width: number
  from: number
  to: number
  down: number
  across: number
  /** Zero padding that keeps the size. Only the layer that collapses the rows has 'across'. */
  pad: 'both' | 'across'
}

/** The layers. ReLU follows each layer except the last. */
const LAYERS: readonly Layer[] = [
  { height: 5, width: 5, from: 1, to: 12, down: 2, across: 2, pad: 'both' },
  { height: 3, width: 3, from: 12, to: 24, down: 2, across: 2, pad: 'both' },
  { height: 3, width: 3, from: 24, to: 32, down: 1, across: 1, pad: 'both' },
  { height: 3, width: 3, from: 32, to: 48, down: 2, across: 1, pad: 'both' },
  { height: 4, width: 3, from: 48, to: 64, down: 1, across: 1, pad: 'across' },
  { height: 1, width: 5, from: 64, to: 64, down: 1, across: 1, pad: 'both' },
  { height: 1, width: 1, from: 64, to: CLASSES, down: 1, across: 1, pad: 'both' }
]

interface Weights { factors: Float32Array, biases: Float32Array }
export type Network = readonly Weights[]

/** Values indexed by row, column and channel. */
interface Volume { values: Float32Array, height: number, width: number }

/** Log likelihood of each class, by column. */
export interface Columns { logs: Float32Array, count: number }

/** Reads little-endian float32: each layer's factors by row, column, input and output channel, then its biases. */
export function readNetwork (file: URL): Network {
  const bytes = readFileSync(file)
  const all = new Float32Array(new Uint8Array(bytes).buffer)
  let at = 0
  const take = (count: number) => {
    at += count
    return all.subarray(at - count, at)
  }
  const network = LAYERS.map(({ height, width, from, to }) => (
    { factors: take(height * width * from * to), biases: take(to) }))
  if (at !== all.length) throw new TypeError('The file of weights does not match the layers')
  return network
}

/** Runs the network on a strip 32 pixels high. */
export function readStrip (network: Network, { pixels, width, height }: Strip): Columns {
  let volume: Volume = { values: pixels, height, width }
  for (const [at, weights] of network.entries()) {
    volume = convolve(volume, LAYERS[at]!, weights)
    if (at < network.length - 1) dropNegative(volume.values)
  }
  return { logs: logarithms(volume.values), count: volume.width }
}

/** "SAME" padding as in TensorFlow and XLA, with the larger half after the values. */
function padding (size: number, out: number, step: number, window: number): number {
  return Math.max(0, (out - 1) * step + window - size) >> 1
}

function convolve (volume: Volume, layer: Layer, { factors, biases }: Weights): Volume {
  const { to, down, across } = layer
  const { height, width } = volume
  const outHeight = layer.pad === 'both' ? Math.ceil(height / down) : Math.floor((height - layer.height) / down) + 1
  const outWidth = Math.ceil(width / across)
  const top = layer.pad === 'both' ? padding(height, outHeight, down, layer.height) : 0
  const left = padding(width, outWidth, across, layer.width)
  const out = new Float32Array(outHeight * outWidth * to)
  for (let y = 0, o = 0; y < outHeight; y++) {
    for (let x = 0; x < outWidth; x++, o += to) {
      out.set(biases, o)
      addWeighted(out, o, to, factors, gather(volume, layer, y * down - top, x * across - left))
    }
  }
  return { values: out, height: outHeight, width: outWidth }
}

const WINDOW_MAX = Math.max(...LAYERS.map(({ height, width, from }) => height * width * from))
/** The non-zero values of the current window, and the offsets of their factors. The buffers are reused. */
const seen = { values: new Float32Array(WINDOW_MAX), factors: new Int32Array(WINDOW_MAX) }

/** Fills `seen` from the window at a corner. Skips zeros, which are half of the values. Returns the count. */
function gather ({ values, height, width }: Volume, layer: Layer, top: number, left: number): number {
  const { from, to } = layer
  let count = 0
  for (let ky = Math.max(0, -top); ky < layer.height && top + ky < height; ky++) {
    for (let kx = Math.max(0, -left); kx < layer.width && left + kx < width; kx++) {
      const source = ((top + ky) * width + left + kx) * from
      const first = (ky * layer.width + kx) * from
      for (let i = 0; i < from; i++) {
        const value = values[source + i]!
        // Always write, and count conditionally, because a branch costs more than the write.
        seen.values[count] = value
        seen.factors[count] = (first + i) * to
        count += value === 0 ? 0 : 1
      }
    }
  }
  return count
}

/** The innermost loops take most of the time. Four parallel sums stay in registers, which is nearly twice as fast. */
function addWeighted (out: Float32Array, o: number, to: number, factors: Float32Array, count: number): void {
  const { values, factors: firsts } = seen
  let c = 0
  for (; c + 4 <= to; c += 4) {
    let [a, b, d, e] = [out[o + c]!, out[o + c + 1]!, out[o + c + 2]!, out[o + c + 3]!]
    for (let n = 0; n < count; n++) {
      const value = values[n]!
      const f = firsts[n]! + c
      a += value * factors[f]!
      b += value * factors[f + 1]!
      d += value * factors[f + 2]!
      e += value * factors[f + 3]!
    }
    out[o + c] = a
    out[o + c + 1] = b
    out[o + c + 2] = d
    out[o + c + 3] = e
  }
  for (; c < to; c++) {
    for (let n = 0; n < count; n++) out[o + c]! += values[n]! * factors[firsts[n]! + c]!
  }
}

function dropNegative (values: Float32Array): void {
  for (let at = 0; at < values.length; at++) if (values[at]! < 0) values[at] = 0
}

/** Log softmax of each column, computed in place. */
function logarithms (values: Float32Array): Float32Array {
  for (let at = 0; at < values.length; at += CLASSES) {
    const column = values.subarray(at, at + CLASSES)
    const most = column.reduce((a, b) => Math.max(a, b))
    const total = most + Math.log(column.reduce((sum, each) => sum + Math.exp(each - most), 0))
    for (let c = 0; c < CLASSES; c++) column[c]! -= total
  }
  return values
}

/** The log likelihoods of one column: each character, and then "between". */
export function column ({ logs }: Columns, at: number): Float32Array {
  return logs.subarray(at * CLASSES, (at + 1) * CLASSES)
}
