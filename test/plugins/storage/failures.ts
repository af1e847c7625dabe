/** The machine code of what some work fails with; undefined: it does not fail. */
export async function codeOf (work: Promise<unknown>): Promise<string | undefined> {
  try {
    await work
    return undefined
  } catch (err) {
    return String((err as { code?: unknown }).code ?? err)
  }
}
