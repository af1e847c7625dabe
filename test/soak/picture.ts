import type { Disturbance, Fault } from './disturbances.ts'
import type { Sample } from './sampler.ts'
import { drawSvg, type Mark } from './svg.ts'

const COLORS: Readonly<Record<Fault, string>> = {
  end: '#888888', kill: '#d62728', database: '#9467bd', police: '#9ecae1', mail: '#a1d99b', receiver: '#fdd0a2'
}
const WORDS: Readonly<Record<Fault, string>> = {
  end: 'ended, restarted',
  kill: 'killed, restarted',
  database: 'connections ended',
  police: 'police refuses',
  mail: 'mails refused',
  receiver: 'receiver fails'
}
const CLASSES: Readonly<Record<string, string>> = {
  '2xx': '#2ca02c', '4xx': '#1f77b4', '5xx': '#d62728', none: '#7f7f7f'
}

/** Draws the run: memory, descriptors, connections, responses, times. */
export function drawRun (
  minutes: number, samples: readonly Sample[], disturbances: readonly Disturbance[]
): string {
  const line = (name: string, color: string, of: (sample: Sample) => number) =>
    ({
      name,
      color,
      points: samples.map((one) => ({ x: one.minute, y: of(one), part: one.life })).filter(({ y }) => !isNaN(y))
    })
  const marks = disturbances.map(({ fault, from, to = from }): Mark =>
    ({ from: from / 60_000, to: to / 60_000, color: COLORS[fault] }))
  return drawSvg({
    title: `A server under mixed load and faults, ${minutes} minutes`,
    minutes,
    marks,
    legend: (Object.keys(COLORS) as Fault[]).map((fault) => ({ text: WORDS[fault], color: COLORS[fault] })),
    panels: [
      {
        title: 'Resident memory, live heap of the main thread',
        unit: 'MB',
        series: [line('heap', '#ff7f0e', ({ heap }) => heap), line('resident', '#1f77b4', ({ memory }) => memory)]
      },
      {
        title: 'Open descriptors, connections to the database',
        unit: 'number',
        series: [
          line('connections', '#ff7f0e', ({ connections }) => connections),
          line('descriptors', '#1f77b4', ({ descriptors }) => descriptors)
        ]
      },
      {
        title: 'Answers by class of status',
        unit: 'per second',
        series: Object.entries(CLASSES).map(([name, color]) => line(name, color, ({ rates }) => rates[name] ?? 0))
      },
      {
        title: 'Time of an answer, lateness of the event loop',
        unit: 'ms',
        series: [
          line('lateness', '#ff7f0e', ({ lateness }) => lateness),
          line('/metrics', '#1f77b4', ({ answered }) => answered)
        ]
      }
    ]
  })
}
