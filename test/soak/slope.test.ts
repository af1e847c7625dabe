import fc from 'fast-check'
import t from 'tap'
import { steadyRise, theilSen } from './slope.ts'
import { drawSvg } from './svg.ts'

t.test('the slope of a line is found whatever a few values say', async (t) => {
  fc.assert(fc.property(fc.integer({ min: -50, max: 50 }), fc.integer(), fc.integer(), (slope, wild, at) => {
    const points = Array.from({ length: 30 }, (_, x) => ({ x, y: slope * x + 100 }))
    points[Math.abs(at) % points.length]!.y = wild
    return Math.abs(theilSen(points) - slope) < 1e-9
  }))
  t.equal(theilSen([]), 0)
  t.equal(theilSen([{ x: 1, y: 1 }, { x: 1, y: 9 }]), 0, 'there are no two instants')
})

t.test('one step, wherever it is, is no rise, and hides none', async () => {
  const place = fc.integer({ min: 0, max: 39 })
  fc.assert(fc.property(fc.integer({ min: -5, max: 5 }), fc.nat(500), place, (slope, step, at) => {
    const points = Array.from({ length: 40 }, (_, x) => ({ x, y: slope * x + (x >= at ? step : 0) }))
    return Math.abs(steadyRise(points) - slope) < 1e-9
  }))
})

t.test('a drawing breaks its lines between parts, and shows words as they are', async (t) => {
  const svg = drawSvg({
    title: 'a < b & c',
    minutes: 2,
    marks: [{ from: 1, to: 1, color: 'red' }],
    legend: [{ text: 'fault', color: 'red' }],
    panels: [{
      title: 'Memory',
      unit: 'MB',
      series: [{ name: 'memory', color: 'blue', points: [1, 1, 2].map((part, x) => ({ x, y: x, part })) }]
    }]
  })
  t.match(svg, '>a &lt; b &amp; c</text>')
  t.equal(svg.match(/<polyline/g)?.length, 2)
  t.notMatch(svg, /NaN|undefined/)
})
