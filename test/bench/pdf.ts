import { spawnSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import process from 'node:process'
import { pathToFileURL } from 'node:url'
import { workerPool } from '#src/services/workers/pool.ts'
import type { PdfJob } from '#src/pdf/pdf-jobs.ts'
import makePdf from '#src/pdf/task.ts'
import { atLeast, interleaved, under, within, type BenchResult } from './harness.ts'
import { drawLetter, drawTable } from './pdf-peers.ts'
import { temporaryFolder } from './process.ts'

const DAY = '2026-11-23'
const date = Date.parse(DAY)
const TASK = new URL('../../src/pdf/task.ts', import.meta.url)
const BROWSER = '/usr/bin/chromium'

const LETTER: PdfJob = {
  kind: 'letter',
  request: {
    nome_ospite: 'Anna Bianchi',
    lingua: 'IT',
    data: DAY,
    struttura: { nome: 'Locanda di prova' },
    template_data: { text1: prose(1), text2: prose(2), text3: prose(3) }
  },
  date
}

/** Compares letters and reports with pdfkit and a browser, and measures their effect on a server. */
export async function pdfBench (): Promise<BenchResult[]> {
  const [some, many] = [tableOf(1000), tableOf(10_000)]
  return [
    // Must be first, because the garbage of the large tables below would hide the growth.
    await memoryAfter(),
    within(1.8, await interleaved(
      'welcome letter, warm, against pdfkit', ours(LETTER), () => ignore(drawLetter([1, 2, 3].map(prose))),
      { rounds: 31, warmUps: 10 }
    )),
    within(1.3, await interleaved(
      'report of 1,000 rows against pdfkit', ours(some.job), () => ignore(drawTable(some.titles, some.rows))
    )),
    within(1.2, await interleaved(
      'report of 10,000 rows against pdfkit', ours(many.job), () => ignore(drawTable(many.titles, many.rows)),
      { rounds: 3, warmUps: 1 }
    )),
    ...await againstBrowser(some),
    await besideTen(some.job)
  ]
}

function prose (seed: number): string {
  const sentence = `È un piacere avervi da noi, per la volta numero ${seed}. `
  return `${sentence}Abbiamo preparato tutto perché vi sentiate a casa. `.repeat(4)
}

interface Table { job: PdfJob, titles: string[], rows: string[][] }

/** A table from a minimal template, like pdfkit's: without summary and chart. */
function tableOf (count: number): Table {
  const objects = Array.from({ length: count }, (_, at) => ({
    codice: `L${at % 40}`,
    alloggio: `Trilocale ${at % 40}`,
    nome: 'Anna',
    cognome: `Bianchi ${at}`,
    incassi: `${1000 + at % 997}.${10 + at % 90}`,
    arrivi: String(at % 9)
  }))
  const titles = Object.keys(objects[0]!)
  const columns = titles.map((field, at) => `<col field="${field}"${at > 3 ? ' align="right"' : ''}/>`).join('')
  const page = `<page margin="42"><table data="righe">${columns}</table></page>`
  const source = `<document orientation="landscape">${page}</document>`
  return {
    job: { kind: 'template', source, data: { righe: objects }, date },
    titles,
    rows: objects.map((row) => Object.values(row))
  }
}

function ours (job: PdfJob) {
  return async () => {
    const made = await makePdf(job)
    if (made.fault !== null) throw new Error(made.fault.message)
  }
}

async function ignore (work: Promise<unknown>): Promise<void> {
  await work
}

/** Starts a new browser for each PDF, like a server without a running browser. */
async function againstBrowser ({ job, titles, rows }: Table): Promise<BenchResult[]> {
  const folder = temporaryFolder()
  const page = join(folder, 'report.html')
  const cells = (texts: string[], tag: string) =>
    `<tr>${texts.map((text) => `<${tag}>${text}</${tag}>`).join('')}</tr>`
  const body = rows.map((row) => cells(row, 'td')).join('')
  writeFileSync(page, `<table><thead>${cells(titles, 'th')}</thead>${body}</table>`)
  const print = () => spawnSync(BROWSER, [
    '--headless', '--no-sandbox', '--disable-gpu', `--user-data-dir=${folder}/profile`,
    `--print-to-pdf=${folder}/report.pdf`, pathToFileURL(page).href
  ])
  try {
    const { error, status } = print()
    if (error !== undefined || status !== 0) {
      process.stdout.write(`skip   report against headless Chromium: ${BROWSER} does not print here\n`)
      return []
    }
    const measured = await interleaved(
      'report of 1,000 rows, against headless Chromium', ours(job), () => { print() }, { rounds: 3, warmUps: 0 }
    )
    return [atLeast(5, measured)]
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Measures the p99 event loop delay while threads make ten reports. */
async function besideTen (job: PdfJob): Promise<BenchResult> {
  const pool = workerPool({ threads: 1, waiting: 32, waitMs: 60_000, memoryMb: 256, idleMs: 1000 })
  const run = () => pool.run<typeof makePdf>(TASK, job, { caller: 'a', deadlineMs: 120_000 })
  try {
    await run()
    const amounts: number[] = []
    for (let round = 0; round < 3; round++) {
      const delay = monitorEventLoopDelay({ resolution: 1 })
      delay.enable()
      await Promise.all(Array.from({ length: 10 }, run))
      delay.disable()
      amounts.push(delay.percentile(99) / 1e6)
    }
    return under(50, 'ms', { name: 'event loop, 99th percentile, while ten reports are made', amounts })
  } finally {
    await pool.close()
  }
}

/**
 * Percentage growth of resident memory from letter 50 to letter 500. Runs in a worker, because its memory limit forces
 * garbage collection.
 */
async function memoryAfter (): Promise<BenchResult> {
  const pool = workerPool({ threads: 1, waiting: 32, waitMs: 60_000, memoryMb: 256, idleMs: 60_000 })
  const after = async (count: number) => {
    for (let at = 0; at < count; at++) {
      await pool.run<typeof makePdf>(TASK, LETTER, { caller: 'a', deadlineMs: 60_000 })
    }
    return process.memoryUsage.rss()
  }
  try {
    const early = await after(50)
    const late = await after(450)
    return under(20, '%', { name: 'memory after 500 letters against after 50', amounts: [(late / early - 1) * 100] })
  } finally {
    await pool.close()
  }
}
