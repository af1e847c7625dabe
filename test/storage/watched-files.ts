import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'

const found = spawnSync('strace', ['-o', '/dev/null', '-e', 'trace=%file', 'true'])

/** The reason why this machine cannot trace processes, for `skip`. False when it can. */
export const noStrace = found.status === 0 ? false : 'strace is not installed, or may not trace'

/** A system call that names a file, and whether it succeeded. */
interface FileCall { paths: string[], text: string, succeeded: boolean }

/**
 * Traces every system call by which a process, in any of its threads, names a file.
 * @param log the file for the calls
 * @returns a function that ends the trace and returns the calls
 */
export async function watchFiles (pid: number, log: string): Promise<() => Promise<FileCall[]>> {
  const tracer = spawn('strace', ['-f', '-y', '-s', '4096', '-e', 'trace=%file', '-o', log, '-p', String(pid)], {
    stdio: ['ignore', 'ignore', 'pipe']
  })
  const ended = once(tracer, 'exit')
  // strace prints this when it has attached to every thread.
  let said = ''
  tracer.stderr.setEncoding('utf8').on('data', (text: string) => { said += text })
  while (!said.includes('attached')) {
    if (tracer.exitCode !== null) throw new Error(said)
    await wait(20)
  }
  return async () => {
    tracer.kill('SIGINT')
    await ended
    return existsSync(log) ? readFileSync(log, 'utf8').split('\n').flatMap(readCall) : []
  }
}

function readCall (text: string): FileCall[] {
  if (!/^\d+ +\w+\(/.test(text)) return []
  const paths = [...text.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, path = '']) => path)
  return [{ paths, text, succeeded: !/ = -1 E/.test(text) }]
}
