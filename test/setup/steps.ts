const KEPT = 8

/** What is under way in this process, or was last: a file that stands still says so (`long-file.ts`). */
const steps: string[] = []

/** Notes a step of a test's frame when it begins and when it has ended. */
export async function step<T> (name: string, work: () => PromiseLike<T>): Promise<T> {
  note(`${name} …`)
  try {
    return await work()
  } finally {
    note(`${name}: ended`)
  }
}

function note (text: string): void {
  steps.push(`${new Date().toISOString().slice(11, 23)} ${text}`)
  if (steps.length > KEPT) steps.shift()
}

/** The last ones, the oldest first. */
export function lastSteps (): readonly string[] {
  return steps
}
